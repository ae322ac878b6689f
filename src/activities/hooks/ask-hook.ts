import { z } from 'zod'
import type { CompactionActivityInput } from '../../shared/activity-protocol.ts'
import type { PlannedAttempt } from '../../shared/compaction/plan-attempt.ts'
import { LIMITS } from '../../shared/limits.ts'
import { wellFormed } from '../../shared/session/well-formed.ts'
import type { ActivityDeps } from '../deps.ts'
import { writeNotice } from '../write-notice.ts'
import { callHook } from './call-hook.ts'

/** What `beforeCompaction` decided, and what it failed with. */
export interface Verdict {
  readonly focus: string | undefined
  readonly refused?: string
  /** It failed, so that nobody allowed what was asked for. */
  readonly failed?: string
  /** It failed, and the compaction goes on without it. */
  readonly error?: string
}

const answerSchema = z.union([
  z.undefined(),
  z.null(),
  z.strictObject({ refuse: z.string().trim().min(1) }),
  z.strictObject({ focus: z.string() }),
])

const REFUSAL_CHARS = 500

/** Causes behind which nobody waits: the session would overflow with a hook that is broken. */
const AUTOMATIC = new Set(['pressure', 'context-overflow'])

/** Asks `beforeCompaction` about a plan that would change the surface. A failure is written into the log. */
export async function askHook(
  deps: ActivityDeps,
  input: CompactionActivityInput,
  planned: PlannedAttempt,
  limit: number | null,
): Promise<Verdict> {
  const { sessionId, compactionId, cause, turn, focus } = input
  const hook = deps.hooks?.beforeCompaction
  if (hook === undefined || changesNothing(planned)) return { focus }
  const plan = planned.kind === 'plan' ? planned.plan : undefined
  const answer = await callHook('beforeCompaction', deps.hooks?.timeoutMs, async (signal) => {
    const said = await hook.call(deps.hooks, {
      sessionId,
      compactionId,
      cause,
      turn,
      ...(focus === undefined ? {} : { focus }),
      tokensBefore: planned.kind === 'plan' ? planned.plan.tokensBefore : planned.outcome.tokensBefore,
      limit,
      messages: plan?.shadowedSeqs.length ?? 0,
      messageTokens: plan?.shadowedTokenCount ?? 0,
      signal,
    })
    return verdictOf(said, focus)
  })
  const verdict = 'error' in answer ? answer : answer.value
  if (!('error' in verdict)) return verdict
  const { error } = verdict
  await writeNotice(deps, {
    sessionId,
    actor: input.parent,
    turn,
    id: `before.${compactionId}`,
    code: 'hook-failed',
    message: error,
    compactionId,
  })
  return AUTOMATIC.has(cause) ? { focus, error } : { focus, failed: error }
}

const changesNothing = (planned: PlannedAttempt): boolean =>
  planned.kind === 'void' && planned.copies.length === 0

function verdictOf(value: unknown, focus: string | undefined): Verdict | { readonly error: string } {
  const answer = answerSchema.safeParse(value)
  if (!answer.success)
    return { error: 'beforeCompaction must return nothing, { refuse: sentence } or { focus: text }.' }
  const { data } = answer
  if (data === undefined || data === null) return { focus }
  if ('refuse' in data) return { focus, refused: wellFormed(data.refuse).slice(0, REFUSAL_CHARS) }
  const amended = wellFormed(data.focus).trim()
  if (amended.length > LIMITS.focusChars)
    return {
      error: `beforeCompaction gave a focus of ${amended.length} characters, allowed are ${LIMITS.focusChars}.`,
    }
  return { focus: amended === '' ? undefined : amended }
}
