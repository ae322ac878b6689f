import assert from 'node:assert/strict'
import type { Pricing } from '../../src/activities/models/counted-usage.ts'
import { readLog } from '../../src/cli/read-log.ts'
import { LIMITS } from '../../src/shared/limits.ts'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import type { CompactionOutcome } from '../../src/shared/protocol.ts'
import type { CompactionCause, SessionEvent } from '../../src/shared/session/events.ts'
import { compactionIds } from '../../src/shared/session/keys.ts'
import { type ScriptedAnswer, type ScriptedReply, scriptedModel } from '../../src/worker/index.ts'
import { failureMessage, failureType } from '../../src/workflows/failures.ts'
import { runSteps } from '../../src/workflows/turn-steps.ts'
import { type ActivityStage, openStage, RUN_1, SESSION, type StageOptions } from './activity-stage.ts'
import type { Wire } from './anthropic/wire.ts'
import { receivedProblems, storeProblems } from './fault-checks.ts'

// A session of hundreds of steps without a server: the real step loop, activities and store.

/** A provider that counts five characters as a token, so that hundreds of requests are priced in no time. */
const PRICING: Pricing = {
  text: (text) => Math.ceil(text.length / 5),
  tools: (tools) => Math.ceil(JSON.stringify(tools).length / 5),
  content: (content) => Math.ceil(JSON.stringify(content).length / 5),
}

export interface StagedModel extends Omit<StageOptions, 'model'> {
  readonly window: number
  /** Of the model `small`. Default: as the other. */
  readonly smallWindow?: number
  readonly reply: ScriptedAnswer
  readonly summary?: ScriptedReply | ScriptedAnswer
  /** Every call goes over it. */
  readonly wire?: Wire
}

export interface StagedSession extends StagedTurns {
  readonly stage: ActivityStage
  readonly requests: ModelRequest[]
  /** Checks every invariant, of all requests so far and of the store; returns the log. */
  sound(): Promise<SessionEvent[]>
}

export async function openStagedSession(options: StagedModel): Promise<StagedSession> {
  const { window, smallWindow = window, reply, summary, wire, ...rest } = options
  const requested: ModelRequest[] = []
  const problems: string[] = []
  const scripted = scriptedModel(reply, {
    pricing: PRICING,
    capacity: { contextWindow: window, maxOutputTokens: 4_000 },
    summaries: summary ?? 'Work was done. Next: go on.',
  })
  const model = {
    ...scripted,
    capacity: async (name: string) => ({
      contextWindow: name === 'small' ? smallWindow : window,
      maxOutputTokens: 4_000,
    }),
    async generate(...[request, context]: Parameters<typeof scripted.generate>) {
      requested.push(request)
      // Its tokens are not ours: that a request is a little too long is found out by the refusal.
      const facts = { inputTokens: 0, contextWindow: null, maxBodyBytes: LIMITS.requestBytes }
      problems.push(...(await receivedProblems(stage.store, request, facts)))
      return scripted.generate(request, context)
    },
  }
  const stage = await openStage({ ...rest, model: wire?.over(model) ?? model })
  const turns = stagedTurns(stage)
  return {
    ...turns,
    stage,
    requests: requested,
    async sound() {
      const events = await readLog(stage.store, SESSION)
      assert.deepEqual([...problems, ...(await storeProblems(stage.store, SESSION, events))], [])
      return events
    },
  }
}

export interface StagedTurns {
  /** Of every attempt, in order. */
  readonly outcomes: (CompactionOutcome & { readonly cause: CompactionCause })[]
  /** One turn, to its end. */
  say(content: string): Promise<SessionEvent<'turn/end'>['data']>
  /** What a person asks for between turns. */
  compact(focus?: string): Promise<CompactionOutcome>
}

/** Turns and compactions of the session of a stage. */
export function stagedTurns(stage: Pick<ActivityStage, 'run' | 'store'>): StagedTurns {
  const outcomes: StagedTurns['outcomes'] = []
  let requests = 0
  const attempt = async (given: {
    compactionId: string
    cause: CompactionCause
    turn: number | null
    focus?: string
  }) => {
    const outcome = await runAttempt(stage, given)
    outcomes.push({ ...outcome, cause: given.cause })
    return outcome
  }
  return {
    outcomes,
    compact: (focus) =>
      attempt({
        compactionId: compactionIds.manual(`c${++requests}`),
        cause: 'manual',
        turn: null,
        ...(focus === undefined ? {} : { focus }),
      }),
    async say(message) {
      const requestId = `p${++requests}`
      const started = await stage.run(RUN_1, 'sessionStartTurn', { requestId, message })
      const { turn } = started
      let { reading } = started
      const observe = <T extends { readonly reading: typeof reading }>(result: T): T => {
        reading = result.reading
        return result
      }
      try {
        await runSteps(
          {
            boundary: async () => 'go-on',
            callModel: async (step) => observe(await stage.run(RUN_1, 'sessionCallModel', { turn, step })),
            runTool: async (step, { callId }) => {
              observe(await stage.run(RUN_1, 'sessionRunTool', { turn, step, callId }))
            },
            compact: async ({ focus, ...compaction }) =>
              observe(await attempt({ ...compaction, turn, ...(focus === undefined ? {} : { focus }) })),
            newestReading: () => reading,
          },
          started,
        )
      } catch (failure) {
        const [error, code] = [failureMessage(failure), failureType(failure)]
        const why = { reason: 'error' as const, message: error, ...(code === undefined ? {} : { code }) }
        await stage.run(RUN_1, 'sessionEndTurn', { turn, ...why })
      }
      const end = (await readLog(stage.store, SESSION)).findLast((event) => event.type === 'turn/end')
      if (end?.type !== 'turn/end') throw new Error(`Turn ${turn} did not end.`)
      return end.data
    },
  }
}

async function runAttempt(
  stage: Pick<ActivityStage, 'run'>,
  given: { compactionId: string; cause: CompactionCause; turn: number | null; focus?: string },
): Promise<CompactionOutcome> {
  const child = { workflowId: `${SESSION}/compact/${given.compactionId}`, runId: 'child' }
  const work = { ...given, parent: RUN_1 }
  const prepared = await stage.run(child, 'sessionPrepareCompaction', work)
  if (prepared.kind === 'done') return prepared.outcome
  const summary = await stage.run(child, 'sessionSummarize', work)
  if (summary.kind === 'summarized') {
    const { paid, deterministic } = summary
    return stage.run(child, 'sessionCommitCompaction', { ...work, paid, deterministic })
  }
  const { compactionId } = given
  return stage.run(child, 'sessionCloseAttempt', { compactionId, error: summary.error })
}
