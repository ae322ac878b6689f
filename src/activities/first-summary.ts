import { Context } from '@temporalio/activity'
import type { CompactionActivityInput } from '../shared/activity-protocol.ts'
import type { SummaryModel } from '../shared/compaction/policy-schema.ts'
import { SessionError } from '../shared/errors.ts'
import type { StoredSummary } from '../shared/ports/store.ts'
import { refusalSchema } from '../shared/session/events.ts'
import { currentAttempt } from './attempt-tally.ts'
import type { ActivityDeps } from './deps.ts'
import { failedModels, recordFailedModel } from './failed-models.ts'
import { isPaidUp } from './model-failed.ts'
import { type SummaryFailure, summaryFailure } from './summary-failure.ts'

export interface Attempted {
  readonly stored: StoredSummary
  /** In words, beside a `fallbackReason`. */
  readonly problem?: string
}

export interface Asked {
  /** In the order in which they are asked; empty: `ask` has one summarizer, and no name for it. */
  readonly models: readonly SummaryModel[]
  readonly ask: (place: number) => Promise<StoredSummary['summary']>
  readonly signal: AbortSignal
}

/** A failure that may pass is left to Temporal's next attempt: so many times, and as long as the provider does not ask for more patience than this. */
const PATIENT_ATTEMPTS = 2
const PATIENCE_MS = 30_000

/**
 * The first summary that one of the models gives. A model that has failed for good in this attempt of a compaction is not asked again, one whose failure may
 * pass only when every other has failed, too. When as many attempts were paid as may be, no other is asked.
 *
 * @throws the model's failure while another attempt may help; `ModelFailed`, with the shortest wait, when all failed and one of them may recover
 */
export async function firstSummary(
  deps: ActivityDeps,
  input: CompactionActivityInput,
  { models, ask, signal }: Asked,
): Promise<Attempted> {
  const failed = await failedModels(deps, input, models)
  const places = models.length === 0 ? [0] : [...models.keys()]
  const isAlone = places.length === 1
  const away = places.filter((place) => failed.get(place)?.mayRecover)
  for (const place of [...places.filter((each) => !failed.has(each)), ...away]) {
    try {
      return { stored: { summary: await ask(place) } }
    } catch (error) {
      const failure = signal.aborted ? null : summaryFailure(error)
      if (failure === null || (failure.mayRecover && (isAlone || isWorthWaitingFor(failure)))) throw error
      const model = models[place]
      failed.set(
        place,
        model === undefined || isAlone
          ? failure
          : await recordFailedModel(deps, input, { ...model, place }, failure),
      )
      // Nobody would be asked any more.
      if (isPaidUp(currentAttempt())) break
    }
  }
  return allFailed(places.flatMap((place) => failed.get(place) ?? []))
}

const isWorthWaitingFor = ({ retryAfterMs = 0 }: SummaryFailure): boolean =>
  Context.current().info.attempt <= PATIENT_ATTEMPTS && retryAfterMs <= PATIENCE_MS

function allFailed(failures: readonly SummaryFailure[]): Attempted {
  const message = failures.map((failure) => failure.message).join(' ')
  const recovering = isPaidUp(currentAttempt()) ? [] : failures.filter(({ mayRecover }) => mayRecover)
  const waits = recovering.map(({ retryAfterMs = 0 }) => retryAfterMs)
  if (recovering.length > 0)
    throw new SessionError('ModelFailed', message, {
      kind: recovering[0]?.reason,
      retryable: true,
      retryAfterMs: Math.min(...waits),
    })
  // What the policy makes of it is what it makes of its own summarizer's failure: a list of further models changes nothing of that.
  const reason = failures[0]?.reason ?? 'failed'
  const isAnswer = reason === 'overflow' || refusalSchema.safeParse(reason).success
  return { stored: { summary: null, fallbackReason: isAnswer ? reason : 'failed' }, problem: message }
}
