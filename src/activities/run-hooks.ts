import type { z } from 'zod'
import type { runHooksInputSchema, runHooksResultSchema } from '../shared/activity-protocol.ts'
import { ratioOf } from '../shared/compaction/meter.ts'
import { modelKeyOf } from '../shared/compaction/pressure.ts'
import { FREE_SHARE } from '../shared/compaction/span.ts'
import { LIMITS } from '../shared/limits.ts'
import type { CompactionHooks, HookedCompaction, HookMessages } from '../shared/ports/hooks.ts'
import type { ContentBlock } from '../shared/session/content.ts'
import type { NewEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { promptContent, promptProblem } from '../shared/session/prompt-content.ts'
import { wellFormed } from '../shared/session/well-formed.ts'
import { priceContent } from '../shared/tokens/price.ts'
import type { ActivityDeps } from './deps.ts'
import { callHook } from './hooks/call-hook.ts'
import { tellFailed } from './hooks/tell-failed.ts'
import { asOwner } from './owner.ts'
import { currentReading, loadMeter, loadSession } from './session-view.ts'
import { writeNotice } from './write-notice.ts'

type RunHooksInput = z.infer<typeof runHooksInputSchema>
type RunHooksResult = z.infer<typeof runHooksResultSchema>

/**
 * Tells the worker's hooks of the end of an attempt, and appends what `afterCompaction` gives, once. A hook that fails changes nothing of the end; its error is in
 * the log.
 *
 * @throws SessionError `Fenced`, `StoreUnavailable`
 */
export async function runHooks(deps: ActivityDeps, input: RunHooksInput): Promise<RunHooksResult> {
  const { sessionId, compactionId, parent, turn } = input
  const error = await told(deps, input)
  if (error !== undefined) {
    await writeNotice(deps, {
      sessionId,
      actor: parent,
      turn,
      id: `after.${compactionId}`,
      code: 'hook-failed',
      message: error,
      compactionId,
    })
  }
  const reading = await currentReading(deps, sessionId)
  return { reading, ...(error === undefined ? {} : { hookError: error }) }
}

async function told(deps: ActivityDeps, input: RunHooksInput): Promise<string | undefined> {
  const { hooks = {} } = deps
  const { outcome } = input.outcome
  if (outcome === 'compacted') return afterCompaction(deps, hooks, input)
  if (outcome === 'failed') return compactionFailed(hooks, input)
  return undefined
}

async function compactionFailed(hooks: CompactionHooks, input: RunHooksInput): Promise<string | undefined> {
  const { error, paid } = input.outcome
  if (error === undefined) return undefined
  if (hooks.compactionFailed === undefined) return missing('compactionFailed')
  return tellFailed(hooks, { ...hooked(input), error, paid })
}

async function afterCompaction(
  deps: ActivityDeps,
  hooks: CompactionHooks,
  input: RunHooksInput,
): Promise<string | undefined> {
  const { sessionId, compactionId, outcome } = input
  const { startSeq = 0, summarySeq = 0, checkpointSeq = 0, endSeq = 0, tokensAfter, paid } = outcome
  if ((await deps.store.eventByKey(sessionId, keys.compactContext(compactionId, 0))) !== null)
    return undefined
  if (hooks.afterCompaction === undefined) return missing('afterCompaction')
  const room = await roomFor(deps, sessionId)
  const answer = await callHook('afterCompaction', hooks.timeoutMs, async (signal) => {
    const said = await hooks.afterCompaction?.({
      ...hooked(input),
      signal,
      tokensAfter,
      startSeq,
      summarySeq,
      checkpointSeq,
      endSeq,
      paid,
    })
    return contentsOf(said, room)
  })
  const given = 'error' in answer ? answer : answer.value
  if ('error' in given) return given.error
  if (given.contents.length > 0) await append(deps, input, given.contents)
  return undefined
}

/** It is only scheduled when the worker that prepared the attempt has the hook. */
const missing = (name: string): string =>
  `${name} was not called: this worker does not have it. Every worker of a queue needs the same hooks.`

function hooked(input: RunHooksInput): Omit<HookedCompaction, 'signal'> {
  const { sessionId, compactionId, cause, turn, outcome } = input
  const focus = outcome.focus ?? input.focus ?? ''
  return {
    sessionId,
    compactionId,
    cause,
    turn,
    ...(focus === '' ? {} : { focus }),
    tokensBefore: outcome.tokensBefore,
  }
}

type Contents = readonly (readonly ContentBlock[])[]

interface Room {
  /** By our counter. */
  readonly tokens: number
  /** Why there is no more. */
  readonly because: string
}

/** A hook's own limit, or what keeps the context as far below the pressure limit as a compaction leaves it: else each compaction would call for the next. */
async function roomFor(deps: ActivityDeps, sessionId: string): Promise<Room> {
  const session = await loadSession(deps, sessionId)
  const [{ tokens, limit }, meter] = await Promise.all([
    currentReading(deps, sessionId),
    loadMeter(deps, session),
  ])
  const most = LIMITS.hookMessageTokens
  if (limit === null) return { tokens: most, because: '' }
  const left = Math.floor(((1 - FREE_SHARE) * limit - tokens) / ratioOf(meter, modelKeyOf(session.header)))
  if (left >= most) return { tokens: most, because: '' }
  const because = ` in a context of ${tokens} tokens with a limit of ${limit}`
  return { tokens: Math.max(0, left), because }
}

/** The messages of a hook, checked as a prompt is. None of them is appended when one cannot be. */
function contentsOf(
  given: HookMessages | undefined | null,
  room: Room,
): { readonly contents: Contents } | { readonly error: string } {
  if (given === undefined || given === null) return { contents: [] }
  if (!Array.isArray(given.messages))
    return { error: 'afterCompaction must return nothing or { messages: [text or content blocks, …] }.' }
  const messages: HookMessages['messages'] = given.messages
  const contents: (readonly ContentBlock[])[] = []
  let tokens = 0
  for (const [n, message] of messages.entries()) {
    const problem = promptProblem(message)
    if (problem !== undefined) return { error: `afterCompaction: message ${n + 1}: ${problem}.` }
    const content = asJson(promptContent(message))
    tokens += priceContent(content)
    if (tokens > room.tokens)
      return {
        error: `afterCompaction gave messages of ${tokens} tokens${n + 1 < messages.length ? ' and more' : ''}, allowed are ${room.tokens} together${room.because}: none of them was added.`,
      }
    contents.push(content)
  }
  return { contents }
}

/** As the store will have it. @throws TypeError for what is no JSON */
const asJson = (content: readonly ContentBlock[]): readonly ContentBlock[] =>
  wellFormed(JSON.parse(JSON.stringify(content)) as readonly ContentBlock[])

async function append(deps: ActivityDeps, input: RunHooksInput, contents: Contents): Promise<void> {
  const { sessionId, compactionId, turn, parent } = input
  const events = contents.map(
    (content, n): NewEvent<'user/message'> => ({
      key: keys.compactContext(compactionId, n),
      type: 'user/message',
      turn,
      step: null,
      data: { content: [...content], source: 'context' },
      tokens: priceContent(content),
      surfaceOp: 'append',
    }),
  )
  await asOwner(deps, sessionId, parent, (actor) => deps.store.append({ sessionId, actor, turn, events }))
}
