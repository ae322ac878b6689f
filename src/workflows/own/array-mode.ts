import type { AnyUsage, SyncInput } from '../../shared/own-protocol.ts'
import type { TurnEndReason } from '../../shared/session/events.ts'
import { EMPTY_PREFIX, messageDigest, messagesDigest, prefixOf } from '../../shared/session/message-digest.ts'
import { deriveMessages } from '../../shared/session/messages.ts'
import { contentNodes, type MessageLike } from '../../shared/session/plain-messages.ts'
import { autoId } from '../message-ids.ts'
import { MESSAGE_BYTES, partsOfPlan, planArray, sizeOf } from './array-plan.ts'
import type { ArrayState, CarriedHooks } from './carried-hooks.ts'
import { invalid, lifeRunId, type OwnSession, type StepPlace } from './own-session.ts'

export interface ArrayAt {
  /** The caller's own count. */
  readonly turn: number
  readonly messages: readonly MessageLike[]
  readonly usage?: AnyUsage | null | undefined
}

interface Synced {
  readonly place: StepPlace
  readonly messages: readonly MessageLike[]
  /** The log makes the same messages of it. */
  readonly same: boolean
  readonly generation: number
}

/** Keeps a caller's array of messages and the log the same. */
export class ArrayMode {
  readonly #session: OwnSession
  #state: ArrayState

  constructor(session: OwnSession, carried: CarriedHooks | undefined) {
    this.#session = session
    this.#state = carried?.array ?? {
      known: EMPTY_PREFIX,
      turn: null,
      requestId: null,
      step: 1,
      generation: 0,
    }
  }

  get state(): ArrayState {
    return this.#state
  }

  /** Sends what is new. One activity, as a rule. */
  async sync({ turn, messages, usage }: ArrayAt, end?: TurnEndReason): Promise<Synced> {
    const state = this.#state
    const isNewTurn = turn !== state.turn
    const hasTurn = state.requestId !== null
    const plan = planArray({ known: state.known, messages, usage, isNewTurn, hasTurn })
    if (typeof plan === 'string') throw invalid(plan)
    refuseLarge(messages)
    const begins = plan.prompt !== null
    const requestId = begins ? autoId(lifeRunId(), turn, 'turn') : state.requestId
    const own = deriveMessages(contentNodes(messages))
    const previous =
      begins && state.requestId !== null ? { requestId: state.requestId, step: state.step } : null
    const parts = partsOfPlan(plan)
    let step = begins ? 1 : state.step
    for (const [index, { prompt, entries }] of parts.entries()) {
      const isLast = index === parts.length - 1
      const input: SyncInput = {
        v: 1,
        sessionId: this.#session.options.sessionId,
        previous,
        current: requestId === null ? null : { requestId, step },
        prompt,
        entries,
        digest: isLast ? messagesDigest(own) : null,
        ...(end === undefined || !isLast ? {} : { end }),
      }
      const result = await this.#session.activities.sessionSync(input)
      this.#session.observe(result.reading)
      // The rest of a step that was sent in parts follows its reply.
      const hasReply = entries.some(({ message, group }) => group === 'step' && message.role === 'assistant')
      step = hasReply && !isLast ? result.step - 1 : result.step
      if (!isLast) continue
      this.#state = { ...state, known: prefixOf(messages), turn, requestId, step }
      const place = { turn: result.openTurn, step }
      return { place, messages: own, same: result.same, generation: result.reading.generation }
    }
    throw new Error('a plan has at least one part')
  }

  /** The messages of the next request: the caller's, or where the surface has changed what the store has instead. */
  async settle({ messages, same, generation }: Synced): Promise<readonly MessageLike[]> {
    const newest = this.#session.reading?.generation ?? generation
    const isCurrent = same && newest === generation
    const settled = isCurrent ? { messages, generation } : await this.#fetch(messages)
    this.#state = { ...this.#state, known: prefixOf(settled.messages), generation: settled.generation }
    return settled.messages
  }

  async #fetch(
    have: readonly MessageLike[],
  ): Promise<{ messages: readonly MessageLike[]; generation: number }> {
    const { sessionId } = this.#session.options
    const known = have.map(messageDigest)
    const messages: MessageLike[] = []
    for (let from = 0; ; ) {
      const { parts, next, generation } = await this.#session.activities.sessionMessages({
        v: 1,
        sessionId,
        known,
        from,
      })
      for (const part of parts) {
        const message = typeof part === 'number' ? have[part] : part
        if (message !== undefined) messages.push(message)
      }
      if (next === null) return { messages, generation }
      from = next
    }
  }
}

function refuseLarge(messages: readonly MessageLike[]): void {
  const at = messages.findIndex((message) => sizeOf(message) > MESSAGE_BYTES)
  const message = messages[at]
  if (message !== undefined)
    throw invalid(
      `messages[${at}] has ${sizeOf(message)} bytes as JSON, allowed are ${MESSAGE_BYTES}: an activity cannot take more; use the log mode`,
    )
}
