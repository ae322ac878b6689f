import assert from 'node:assert/strict'
import { ApplicationFailure } from '@temporalio/common'
import { readLog } from '../../src/cli/read-log.ts'
import { ModelCallError, type ModelClient, type ModelRequest } from '../../src/shared/ports/model.ts'
import { FAILURE_KINDS, type FailureKind } from '../../src/shared/refusals/provider-failure.ts'
import { type ScriptedReply, scriptedModel } from '../../src/worker/index.ts'
import { type ActivityStage, openStage, RUN_1, SESSION } from './activity-stage.ts'
import { storeProblems } from './fault-checks.ts'

// A session with a compaction whose summary three models may write, in this order. The activities and the store are real; each provider is a script.

export const ID = 'manual.r'
export const CHILD = { workflowId: `${SESSION}/compact/${ID}`, runId: 'child-1' }
export const ATTEMPT = { compactionId: ID, turn: null, cause: 'manual' as const, parent: RUN_1 }

export type Name = 'a' | 'b' | 'c'
/** Answers the nth request of a provider, from 0. */
export type Answer = (
  n: number,
  request: ModelRequest,
  signal: AbortSignal,
) => ScriptedReply | Promise<ScriptedReply>

export const good = (name: string) => `Words were said, says ${name}. Next: nothing.`
export const answers =
  (reply: ScriptedReply): Answer =>
  () =>
    reply
export const fails =
  (kind: FailureKind, rest: { readonly retryAfterMs?: number } = {}): Answer =>
  () => {
    const { retryable } = FAILURE_KINDS[kind]
    throw new ModelCallError({ kind, retryable, message: `says ${kind}.`, ...rest })
  }

interface Writers {
  readonly answer: Partial<Record<Name, Answer>>
  readonly windows?: Partial<Record<Name, number>>
  readonly policy?: Readonly<Record<string, unknown>>
}

export interface WritersStage extends ActivityStage {
  /** `a 0`: provider and index of each request for a summary, in order. */
  readonly asked: string[]
  readonly requests: ModelRequest[]
  answer: Partial<Record<Name, Answer>>
}

export async function openWriters({ answer, windows = {}, policy }: Writers): Promise<WritersStage> {
  const asked: string[] = []
  const requests: ModelRequest[] = []
  const client = (name: Name): ModelClient => {
    let n = 0
    const scripted = scriptedModel(() => 'not asked', {
      capacity: { contextWindow: windows[name] ?? 100_000, maxOutputTokens: 4_000 },
      summaries: (request, { signal }) => {
        asked.push(`${name} ${request.index}`)
        requests.push(request)
        return (stage.answer[name] ?? answers(good(name)))(n++, request, signal)
      },
    })
    return scripted
  }
  const model = (provider: Name) => ({ provider, model: `${provider}-1` })
  const opened = await openStage({
    model: scriptedModel(() => 'word '.repeat(900), {
      capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 },
    }),
    others: { a: client('a'), b: client('b'), c: client('c') },
    policy: {
      summarizer: model('a'),
      summarizerFallbacks: [model('b'), model('c')],
      summaryMaxTokens: 1_000,
      ...policy,
    },
  })
  const stage: WritersStage = { ...opened, asked, requests, answer }
  for (const requestId of ['p1', 'p2', 'p3', 'p4']) {
    const { turn } = await stage.run(RUN_1, 'sessionStartTurn', { requestId, message: 'Talk.' })
    await stage.run(RUN_1, 'sessionCallModel', { turn, step: 1 })
  }
  assert.equal((await stage.run(CHILD, 'sessionPrepareCompaction', ATTEMPT)).kind, 'planned')
  return stage
}

/** @param beats what the attempts before have said of themselves */
export const summarize = (
  stage: ActivityStage,
  attempt = 1,
  sinceMs = 0,
  ...beats: { details?: unknown }[]
) => stage.run(CHILD, 'sessionSummarize', ATTEMPT, attempt, sinceMs, ...beats)

/** The activity's failure, as the server is told of it. */
export async function failureOf(running: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await running.then(() => assert.fail('it did not fail')).catch((caught) => caught)
  assert.ok(error instanceof ApplicationFailure, String(error))
  return error
}

export async function commitWritten(stage: WritersStage) {
  const result = await summarize(stage)
  assert.equal(result.kind, 'summarized')
  const { paid } = result
  const deterministic = result.kind === 'summarized' && result.deterministic
  const outcome = await stage.run(CHILD, 'sessionCommitCompaction', { ...ATTEMPT, paid, deterministic })
  const events = await readLog(stage.store, SESSION)
  assert.deepEqual(await storeProblems(stage.store, SESSION, events), [])
  return { outcome, events }
}
