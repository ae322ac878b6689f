import { ApplicationFailure } from '@temporalio/common'
import type { SessionActivities } from '../shared/activity-protocol.ts'
import { mayRetryRequest, pressureWantsCompaction } from '../shared/compaction/decisions.ts'
import { LIMITS } from '../shared/limits.ts'
import type { CompactionOutcome, Reading } from '../shared/protocol.ts'
import { compactionIds } from '../shared/session/keys.ts'
import { overflowGeneration } from './failures.ts'
import { inParallel } from './in-parallel.ts'

// The step loop of a turn. Temporal comes in as ports, so that every branch is tested without a server.

type CallResult = Awaited<ReturnType<SessionActivities['sessionCallModel']>>
export type Reply = Extract<CallResult, { kind: 'reply' }>
export type ToolCall = Reply['calls'][number]

export interface AutomaticCompaction {
  readonly compactionId: string
  readonly cause: 'pressure' | 'context-overflow' | 'tool'
  readonly focus?: string | undefined
}

/** What a turn asks of its session. Each call throws when the turn is cancelled. */
export interface TurnPorts {
  /** Before each request: what waits is served; `roll-over`: the next run goes on with this step. */
  boundary(step: number): Promise<'go-on' | 'roll-over'>
  /** `shortReply`: no compaction follows, so a shorter reply is better than none. */
  callModel(step: number, shortReply: boolean): Promise<CallResult>
  runTool(step: number, call: ToolCall): Promise<void>
  compact(compaction: AutomaticCompaction): Promise<CompactionOutcome>
  newestReading(): Reading | null
}

/** The counts are the policy's, which may change at a boundary. */
export interface StartedTurn {
  readonly turn: number
  /** The step to run first. */
  readonly step: number
  compactionRetries: number
  maxOverflowRetries: number
}

/** Runs the turn's steps until a reply ends it, or until a boundary asks to roll over. */
export async function runSteps(ports: TurnPorts, started: StartedTurn): Promise<'ended' | 'rolled-over'> {
  for (let step = started.step; ; step++) {
    if ((await ports.boundary(step)) === 'roll-over') return 'rolled-over'
    await relievePressure(ports, started, step)
    const reply = await requestReply(ports, started, step)
    await inParallel(reply.calls, LIMITS.parallelCalls, (call) => ports.runTool(step, call))
    if (reply.compact !== undefined) {
      const { callId, focus } = reply.compact
      await ports.compact({
        compactionId: compactionIds.tool(started.turn, step, callId),
        cause: 'tool',
        focus,
      })
    }
    if (reply.ended !== undefined) return 'ended'
  }
}

async function relievePressure(
  ports: TurnPorts,
  { turn, compactionRetries }: StartedTurn,
  step: number,
): Promise<void> {
  const passes: CompactionOutcome[] = []
  while (pressureWantsCompaction(ports.newestReading(), passes, compactionRetries)) {
    passes.push(
      await ports.compact({
        compactionId: compactionIds.pressure(turn, step, passes.length),
        cause: 'pressure',
      }),
    )
  }
}

/**
 * The reply of one step. A request that does not fit is made again after each compaction that changed the surface, within the policy's count; after the last, with
 * a shorter reply where that is enough.
 */
async function requestReply(
  ports: TurnPorts,
  { turn, maxOverflowRetries }: StartedTurn,
  step: number,
): Promise<Reply> {
  for (let recoveries = 0; ; recoveries++) {
    const isLast = recoveries >= maxOverflowRetries
    const answer = await answerOf(ports, step, isLast)
    if ('kind' in answer) return answer
    if (isLast) throw answer.failure
    const outcome = await ports.compact({
      compactionId: compactionIds.overflow(turn, step, recoveries),
      cause: 'context-overflow',
    })
    if (mayRetryRequest(answer.generation, outcome)) continue
    if (answer.fitsShorter) return shortReply(ports, step)
    throw answer.failure
  }
}

async function shortReply(ports: TurnPorts, step: number): Promise<Reply> {
  const answer = await answerOf(ports, step, true)
  if ('kind' in answer) return answer
  throw answer.failure
}

interface Refused {
  /** Generation of the surface that the request was made of. */
  readonly generation: number
  /** Ends the turn unless a compaction helps: the provider's own, or ours when the request was never sent. */
  readonly failure: unknown
  readonly fitsShorter?: boolean | undefined
}

async function answerOf(ports: TurnPorts, step: number, isLast: boolean): Promise<Reply | Refused> {
  try {
    const result = await ports.callModel(step, isLast)
    if (result.kind === 'reply') return result
    return {
      generation: result.reading.generation,
      failure: ApplicationFailure.nonRetryable(result.message, 'ContextTooLarge'),
      fitsShorter: result.fitsShorter,
    }
  } catch (failure) {
    const generation = overflowGeneration(failure)
    if (generation === undefined) throw failure
    return { generation, failure }
  }
}
