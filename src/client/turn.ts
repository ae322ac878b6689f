import { SessionError } from '../shared/errors.ts'
import type { SessionStore } from '../shared/ports/store.ts'
import type { ContentBlock } from '../shared/session/content.ts'
import type { SessionEvent, TurnEndReason, Usage } from '../shared/session/events.ts'
import { ledgerOf, totalOf } from '../shared/usage/ledger.ts'
import { poll } from './poll.ts'
import type { SessionOptions } from './session.ts'
import { refusedSchema, storedRefusal } from './stored-refusal.ts'

export interface TurnResult {
  readonly turn: number
  readonly reason: TurnEndReason
  /** The last answer; null when the turn ended before one. */
  readonly message: readonly ContentBlock[] | null
  /** All model calls of the turn, also those that failed on their way; without the calls of compactions. */
  readonly usage: Usage
  /** Why, for a turn that ended by an error: the provider's own words where it is the provider's. */
  readonly error?: string
  /** The name of that error, where it is an expected one: `ModelFailed`, `ContextOverflow`, `ContextTooLarge`, … */
  readonly code?: string
}

const DAY_MS = 24 * 60 * 60_000

/** One prompt and what becomes of it. */
export class Turn {
  readonly requestId: string
  /** Seq of the log's head when the prompt was accepted: watch from here. */
  readonly seq: number
  readonly #options: SessionOptions

  constructor(options: SessionOptions, requestId: string, seq: number) {
    this.#options = options
    this.requestId = requestId
    this.seq = seq
  }

  /**
   * Waits in the store until the turn has ended; from any process.
   *
   * @throws SessionError `InvalidInput` without a store, `Cancelled` when the prompt was taken back before it began, else by the name of its refusal; `WorkerUnavailable` when the time (default a day) is over; the signal's reason
   */
  async result(
    options: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
  ): Promise<TurnResult> {
    const { store, sessionId } = this.#options
    if (store === undefined)
      throw new SessionError('InvalidInput', 'turn.result needs a store: give one to the SessionClient.')
    const ended = await poll(options.timeoutMs ?? DAY_MS, () => this.#ended(store), options.signal)
    if (ended === undefined)
      throw new SessionError(
        'WorkerUnavailable',
        `Turn ${this.requestId} of session ${sessionId} has not ended in time.`,
      )
    return resultOf(await eventsOfTurn(store, sessionId, ended))
  }

  async #ended(store: SessionStore): Promise<number | undefined> {
    const { sessionId } = this.#options
    const turn = await store.turnByRequest(sessionId, this.requestId)
    if (turn !== null) return turn.status === 'ended' ? turn.turn : undefined
    const [row] = await store.inbox(sessionId, { requestIds: [this.requestId] })
    if (row?.state === 'refused')
      throw storedRefusal(refusedSchema.parse(row.outcome).error, `Prompt ${this.requestId}`)
    return undefined
  }
}

async function eventsOfTurn(
  store: SessionStore,
  sessionId: string,
  turn: number,
): Promise<readonly SessionEvent[]> {
  const all: SessionEvent[] = []
  for (let after = -1; ; ) {
    const page = await store.events(sessionId, {
      turn,
      types: ['turn/start', 'assistant/message', 'assistant/lost', 'turn/end'],
      after,
    })
    all.push(...page)
    const last = page.at(-1)
    if (last === undefined) return all
    after = last.seq
  }
}

function resultOf(events: readonly SessionEvent[]): TurnResult {
  const end = events.find((event) => event.type === 'turn/end')
  if (end?.type !== 'turn/end')
    throw new SessionError('LogRejected', 'The turn has ended and its end is not in the log.')
  const answers = events.filter((event) => event.type === 'assistant/message')
  const { requests: _, unknownRequests: __, ...usage } = totalOf(ledgerOf(events))
  return {
    turn: end.data.turn,
    reason: end.data.reason,
    message: answers.at(-1)?.data.content ?? null,
    usage,
    ...(end.data.message === undefined ? {} : { error: end.data.message }),
    ...(end.data.code === undefined ? {} : { code: end.data.code }),
  }
}
