import type { CompactionActivityInput } from '../shared/activity-protocol.ts'
import { type SummaryModel, summaryModels } from '../shared/compaction/policy-schema.ts'
import { redact } from '../shared/refusals/redact.ts'
import type { FailedModel, Header } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import type { ActivityDeps } from './deps.ts'
import type { SummaryFailure } from './summary-failure.ts'
import { writeNotice } from './write-notice.ts'

// Which models of an attempt have failed stands in the log, as notices: whoever goes on after a crash asks the next one, and people are told once.

type Attempt = Pick<CompactionActivityInput, 'sessionId' | 'compactionId'>

/** A model that may come to itself again, and has failed for good in the end, has two notices. */
const idOf = (compactionId: string, place: number, mayRecover: boolean): string =>
  `${compactionId}.summarizer.${place}.${mayRecover ? 'away' : 'failed'}`

/** By the model's place in the policy's list, as it was said last. */
export async function failedModels(
  deps: ActivityDeps,
  { sessionId, compactionId }: Attempt,
  models: readonly SummaryModel[],
): Promise<Map<number, SummaryFailure>> {
  const failed = new Map<number, SummaryFailure>()
  if (models.length < 2) return failed
  const places = models.flatMap((_, place) => [
    { place, key: keys.notice(idOf(compactionId, place, true)) },
    { place, key: keys.notice(idOf(compactionId, place, false)) },
  ])
  const events = await deps.store.eventsByKeys(
    sessionId,
    places.map(({ key }) => key),
  )
  for (const { place, key } of places) {
    const notice = events.find((event) => event.key === key)
    if (notice?.type === 'session/notice' && notice.data.failed !== undefined)
      failed.set(place, { ...notice.data.failed, message: notice.data.message })
  }
  return failed
}

/** The models that have failed in an attempt of a compaction so far, in the order of the policy. */
export async function failedBefore(
  deps: ActivityDeps,
  attempt: Attempt,
  { policy }: Header,
): Promise<FailedModel[]> {
  const models = summaryModels(policy)
  const failed = await failedModels(deps, attempt, models)
  return models.flatMap(({ provider, model }, place) => {
    const failure = failed.get(place)
    return failure === undefined ? [] : [{ provider, model, reason: failure.reason }]
  })
}

/** Of a failure in the sentence that says it. */
const SAID_CHARS = 400

/** The failure as it stands in the log. */
export async function recordFailedModel(
  deps: ActivityDeps,
  { sessionId, compactionId, turn, parent }: CompactionActivityInput,
  { provider, model, place }: Pick<SummaryModel, 'provider' | 'model'> & { readonly place: number },
  failure: SummaryFailure,
): Promise<SummaryFailure> {
  const { reason, mayRecover } = failure
  const message = `${provider}/${model} wrote no summary (${reason}): ${redact(failure.message).slice(0, SAID_CHARS)}`
  await writeNotice(deps, {
    sessionId,
    actor: parent,
    turn,
    id: idOf(compactionId, place, mayRecover),
    code: 'summarizer-failed',
    compactionId,
    message,
    failed: { provider, model, reason, mayRecover },
  })
  return { ...failure, message }
}
