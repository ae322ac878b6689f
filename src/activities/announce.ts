import { announced, mustAnnounce } from '../shared/compaction/breaker.ts'
import { isSpent, spendingText } from '../shared/compaction/compaction-budget.ts'
import { ratioOf } from '../shared/compaction/meter.ts'
import { modelKeyOf } from '../shared/compaction/pressure.ts'
import type { Actor, SessionRow, SurfaceMeasure } from '../shared/ports/store.ts'
import { keys } from '../shared/session/keys.ts'
import type { ActivityDeps } from './deps.ts'
import { overheadTokens } from './overhead.ts'
import { loadMeter, loadSpending, readingOf } from './session-view.ts'
import { writeNotice } from './write-notice.ts'

interface Measured {
  readonly turn: number
  readonly step: number
  readonly actor: Actor
  readonly session: SessionRow
  readonly surface: SurfaceMeasure
  readonly replies: number
}

/** Tells people once of what keeps the session from compacting by itself. Costs nothing while nothing does. */
export async function announce(deps: ActivityDeps, measured: Measured): Promise<void> {
  const { turn, step, actor, session, surface, replies } = measured
  const { sessionId, header, headerSeq } = session
  const [meter, spending] = await Promise.all([loadMeter(deps, session), loadSpending(deps, session)])
  const budgetSpent = isSpent(header.policy, spending)
  const reading = readingOf({ header, snapshot: surface, meter, budgetSpent, replies, nowMs: deps.clock() })
  const to = { sessionId, actor, turn }
  const { compactionBudget } = header.policy
  if (reading.off === 'budget-spent' && compactionBudget !== undefined) {
    await once(deps, {
      ...to,
      id: `budget.${headerSeq}`,
      code: reading.off,
      message: `The policy's compactionBudget is used up (${spendingText(compactionBudget, spending)}): no compaction is paid for by itself any more. Raise it by configure, or compact by hand; a request that does not fit still gets a checkpoint that code writes alone.`,
    })
  }
  if (reading.off === 'window-unknown') {
    await once(deps, {
      ...to,
      id: `window.${modelKeyOf(header)}`,
      code: 'window-unknown',
      message: `Nobody knows the window of ${modelKeyOf(header)}: pressure starts no compaction. Give the policy models[].contextWindow or thresholdTokens.`,
    })
  }
  if (reading.pressure === 'overhead') {
    const overhead = Math.round(ratioOf(meter, modelKeyOf(header)) * overheadTokens(header))
    await once(deps, {
      ...to,
      id: `overhead.${headerSeq}`,
      code: 'overhead',
      message: `System prompt and tools alone have about ${overhead} tokens, the limit is ${reading.limit}: no compaction can help. Give the session fewer tools, a shorter system prompt or a larger window.`,
    })
  }
  if (reading.pressure === 'held' && !budgetSpent && mustAnnounce(meter.breaker, header.policy.breaker)) {
    await writeNotice(deps, {
      ...to,
      id: `held.${turn}.${step}`,
      code: 'held',
      message: `Automatic compaction pauses: ${meter.breaker.ineffective} in a row did not help. The context has about ${reading.tokens} tokens, the limit is ${reading.limit}. It goes on once the conversation is shorter, a person compacts, or an hour has passed.`,
      meter: { ...meter, breaker: announced(meter.breaker) },
    })
  }
}

/** A look before the write, since this is asked at every step. */
async function once(deps: ActivityDeps, notice: Parameters<typeof writeNotice>[1]): Promise<void> {
  const told = await deps.store.eventByKey(notice.sessionId, keys.notice(notice.id))
  if (told === null) await writeNotice(deps, notice)
}
