import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { CompactionResult, Session } from '../../client/index.ts'
import { reasonText } from '../../shared/compaction/reason-text.ts'
import { ManualCompactionError } from '../../shared/errors.ts'
import type { SessionStore } from '../../shared/ports/store.ts'
import type { CompactionOutcome, Span, WhenBusy } from '../../shared/protocol.ts'
import type { Run } from '../action.ts'
import { COMMAND } from '../command-name.ts'
import { Interrupted } from '../exit-codes.ts'
import { untilInterrupted } from '../interrupt.ts'
import type { Output } from '../output.ts'
import { formatCount, formatMs } from '../table.ts'

export interface CompactOptions {
  readonly focus?: string
  readonly span?: Span
  readonly wait?: boolean
  readonly detach?: boolean
}

interface CompactOnce {
  readonly requestId: string
  readonly focus?: string
  readonly span?: Span
  readonly whenBusy: WhenBusy
}

export const compact: Run<CompactOptions> = async (setting, [id = ''], options) => {
  const { output } = setting
  const session = (await setting.sessions()).get(id)
  const { store } = await setting.stored(id)
  const requestId = randomUUID()
  const request = {
    requestId,
    ...(options.focus === undefined ? {} : { focus: options.focus }),
    whenBusy: options.wait ? ('wait' as const) : ('refuse' as const),
  }
  const { span } = options
  if (options.detach) {
    const receipt = await session.requestCompaction({ ...request, ...(span === undefined ? {} : { span }) })
    if (receipt.status === 'busy') throw busy(id)
    const human = `Request ${requestId} is ${receipt.status}. What came of it: ${COMMAND} history ${id}`
    return output.result(receipt, human)
  }
  const interrupted = untilInterrupted()
  output.progress(`Compacting ${id}; Ctrl-C cancels it.`)
  interrupted.addEventListener('abort', () =>
    output.progress('Cancelling. Ctrl-C again leaves without waiting for it.'),
  )
  await compactAndShow(
    { output, session, store },
    { ...request, ...(span === undefined ? {} : { span }) },
    interrupted,
  )
}

interface Compacting {
  readonly output: Output
  readonly session: Session
  readonly store: SessionStore
  /** Resolves when the events of the compaction have been shown, for whom they are shown. */
  readonly caughtUp?: () => Promise<void>
}

/** Compacts, waits and prints what came of it. @throws ManualCompactionError; Interrupted: the signal has cancelled it */
export async function compactAndShow(
  { output, session, store, caughtUp }: Compacting,
  { span, ...request }: CompactOnce,
  signal: AbortSignal,
): Promise<void> {
  const { id } = session
  const { requestId } = request
  try {
    const waiting = { ...request, signal }
    const result =
      span === undefined
        ? await session.compactNow(waiting)
        : await session.compactRegion(span.start, span.end, waiting)
    await caughtUp?.()
    showResult(output, await outcomeOf(store, id, requestId), result)
  } catch (error) {
    if (signal.aborted) throw await cancelled(store, id, requestId)
    throw error instanceof ManualCompactionError && error.code === 'busy' ? busy(id) : error
  }
}

function showResult(
  output: Output,
  outcome: CompactionOutcome | null,
  result: CompactionResult | null,
): void {
  if (result === null) {
    const { reason = 'nothing', message } = outcome ?? {}
    output.result(
      { outcome: 'nothing', reason, ...(message === undefined ? {} : { message }) },
      `Nothing was compacted: ${message ?? reasonText(reason)}. The conversation is as it was.`,
    )
    return
  }
  const { compactionId, tokensBefore, tokensAfter, shadowedSeqs, durationMs, startSeq, endSeq } = result
  output.result(
    { outcome: 'compacted', ...result },
    `${compactionId}: ${formatCount(tokensBefore)} → ${formatCount(tokensAfter)} tokens, ` +
      `${shadowedSeqs.length} messages, ${formatMs(durationMs)}, events #${startSeq} to #${endSeq}.`,
  )
}

const busy = (id: string) =>
  new ManualCompactionError(
    'busy',
    `Session ${id} is busy: add --wait to wait for its next step, or try again later.`,
  )

/** What was done may have been beyond cancelling. */
async function cancelled(store: SessionStore, sessionId: string, requestId: string): Promise<Interrupted> {
  const outcome = await outcomeOf(store, sessionId, requestId)
  return new Interrupted(
    outcome?.outcome === 'compacted'
      ? `It was too late to cancel: ${outcome.compactionId} is done.`
      : 'The compaction was cancelled; the conversation is as it was.',
  )
}

const settledSchema = z.looseObject({ compactionId: z.string() })

/** The outcome of the attempt that the request led to; null when there was none. */
async function outcomeOf(
  store: SessionStore,
  sessionId: string,
  requestId: string,
): Promise<CompactionOutcome | null> {
  const [request] = await store.inbox(sessionId, { requestIds: [requestId] })
  const settled = settledSchema.safeParse(request?.outcome)
  if (!settled.success) return null
  return (await store.attempt(sessionId, settled.data.compactionId))?.outcome ?? null
}
