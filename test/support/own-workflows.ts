import { CancellationScope, continueAsNew, proxyActivities, sleep } from '@temporalio/workflow'
import type { MessageLike } from '../../src/shared/session/plain-messages.ts'
import { type CarriedHooks, type CompactionRecord, compactionHooks } from '../../src/workflows/hooks.ts'
import type { OwnTestActivities } from './own-activities.ts'

// Agents that are not ours, in both modes, as small as they can be. Each ends with what a test asks for.

export { agentSession, sessionCompaction } from '../../src/workflows/index.ts'

export interface OwnAgentInput {
  readonly sessionId: string
  readonly steps: number
  readonly turns?: number
  readonly policy?: Readonly<Record<string, unknown>>
  /** Continue as new after each turn. */
  readonly rollOver?: boolean
  readonly carried?: CarriedHooks
  readonly turn?: number
  readonly messages?: readonly MessageLike[]
}

export interface OwnAgentResult {
  readonly retries: readonly boolean[]
  readonly history: readonly CompactionRecord[]
  readonly carriedBytes: number
  readonly messages?: readonly MessageLike[]
}

const { begin, think, act, finish, reply, record } = proxyActivities<OwnTestActivities>({
  startToCloseTimeout: '30s',
  heartbeatTimeout: '5s',
  retry: { initialInterval: '100ms', maximumAttempts: 20 },
})

const hooksOf = ({ sessionId, policy, carried }: OwnAgentInput) =>
  compactionHooks({
    sessionId,
    request: { provider: 'scripted', model: 'x', system: 'You count words.', tools: [], maxTokens: 1_000 },
    policy: { micro: false, prune: false, ...policy },
    heartbeatTimeoutMs: 2_000,
    carried,
  })

export async function logAgent(input: OwnAgentInput): Promise<OwnAgentResult> {
  const { sessionId, steps, turns = 1, turn: number = 1 } = input
  const hooks = hooksOf(input)
  const retries: boolean[] = []
  await hooks.open()
  for (let n = number; n <= turns; n++) {
    const { turn, reading: first } = await begin(sessionId, `p${n}`)
    let reading = first
    for (let step = 1; ; step++) {
      await hooks.preStep({ turn, step, reading })
      let thought: Awaited<ReturnType<typeof think>>
      for (;;) {
        try {
          thought = await think(sessionId, turn, step, steps)
          break
        } catch (error) {
          const retry = await hooks.requestError(error, { turn, step })
          retries.push(retry)
          if (!retry) throw error
        }
      }
      reading = thought.reading
      if (thought.calls.length === 0) break
      await Promise.all(
        thought.calls.map(async ({ id }) => {
          reading = await act(sessionId, turn, step, id)
        }),
      )
    }
    await finish(sessionId, turn)
    if (input.rollOver && n < turns)
      return continueAsNew<typeof logAgent>({ ...input, turn: n + 1, carried: hooks.carry() })
  }
  return { retries, history: hooks.history(), carriedBytes: JSON.stringify(hooks.carry()).length }
}

export async function arrayAgent(input: OwnAgentInput): Promise<OwnAgentResult> {
  const { sessionId, steps, turns = 1, turn: number = 1 } = input
  const hooks = hooksOf(input)
  const retries: boolean[] = []
  let messages: MessageLike[] = [...(input.messages ?? [])]
  for (let turn = number; turn <= turns; turn++) {
    messages = [...messages, { role: 'user', content: `Count on, turn ${turn}.` }]
    let usage: Awaited<ReturnType<typeof reply>>['usage'] | null = null
    for (let step = 1; ; step++) {
      messages = (await hooks.preStep({ turn, step, messages, usage })).messages
      await record(sessionId, turn, step, messages)
      let answer: Awaited<ReturnType<typeof reply>>
      for (;;) {
        try {
          answer = await reply(sessionId, turn, step, steps, messages)
          break
        } catch (error) {
          const recovered = await hooks.requestError(error, { turn, step, messages })
          retries.push(recovered.retry)
          if (!recovered.retry) throw error
          messages = recovered.messages
        }
      }
      usage = answer.usage
      messages = [...messages, answer.message]
      if (answer.results === null) break
      messages = [...messages, answer.results]
    }
    if (input.rollOver && turn < turns)
      return continueAsNew<typeof arrayAgent>({ ...input, turn: turn + 1, messages, carried: hooks.carry() })
  }
  messages = (await hooks.endTurn({ turn: turns, messages })).messages
  return { retries, history: hooks.history(), carriedBytes: JSON.stringify(hooks.carry()).length, messages }
}

/** Fills the session, then compacts by hand; the second time in a scope that is cancelled meanwhile. */
export async function handAgent(input: OwnAgentInput): Promise<unknown[]> {
  const { sessionId, steps } = input
  const hooks = hooksOf(input)
  await hooks.open()
  const { turn } = await begin(sessionId, 'p1')
  for (let step = 1; step <= steps; step++) {
    const { calls } = await think(sessionId, turn, step, steps + 1)
    for (const { id } of calls) await act(sessionId, turn, step, id)
  }
  const seen: unknown[] = []
  const note = async (work: () => Promise<unknown>) => {
    try {
      seen.push(await work())
    } catch (error) {
      const failure = error as { name: string; type?: string; message: string; details?: unknown[] }
      seen.push({
        name: failure.name,
        type: failure.type,
        message: failure.message,
        details: failure.details,
      })
    }
  }
  await note(() =>
    CancellationScope.cancellable(async () => {
      const compaction = hooks.compactNow({ focus: 'held' })
      await sleep('1s')
      CancellationScope.current().cancel()
      return compaction
    }),
  )
  await note(() => hooks.compactRegion(9_000, 9_001))
  await note(() => hooks.compactNow({ focus: 'the words' }))
  await note(() => hooks.compactNow({ focus: 'the words' }))
  await finish(sessionId, turn)
  seen.push(hooks.history())
  return seen
}
