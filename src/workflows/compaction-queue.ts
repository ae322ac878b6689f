import { LIMITS } from '../shared/limits.ts'
import type { CarriedState, CompactionRequest, Receipt, WhenBusy } from '../shared/protocol.ts'
import { utf8Bytes } from '../shared/session/prompt-content.ts'
import type { Refusal } from './prompt-queue.ts'

// Compactions that people asked for, waiting and running: who joins whom. Pure.

/** Waiting requests must fit into the state that continue-as-new carries: they get half of it. */
const MAX_WAITING_BYTES = LIMITS.carriedBytes / 2

/** What is asked for. Requests that ask for the same join. */
export interface Wanted {
  readonly focus?: string | undefined
  readonly span?: CompactionRequest['span']
}

/** One attempt and those who asked for it, the first of them first. */
export interface AskedAttempt extends Wanted {
  readonly requestIds: Set<string>
  /** It is being cancelled: nobody joins it any more. */
  isCancelled?: true
}

export type NamedRequest = CompactionRequest & { readonly requestId: string }

export class CompactionQueue {
  #waiting: AskedAttempt[]
  /** The asked attempt that runs. */
  running: AskedAttempt | null = null

  constructor(carried: CarriedState['compactions'] = []) {
    this.#waiting = carried.map(({ requestId, joined, ...wanted }) => ({
      ...wanted,
      requestIds: new Set([requestId, ...joined]),
    }))
  }

  /** Why a request cannot be taken, or undefined. Changes nothing. `isBusy`: a turn or a compaction runs. */
  refusal(request: NamedRequest, isBusy: boolean, whenBusy: WhenBusy): Refusal | undefined {
    const holder = this.#holderOf(request.requestId)
    if (holder !== undefined && !isSame(holder, wantedOf(request))) {
      return {
        error: 'KeyConflict',
        why: `compaction: ${request.requestId} was asked for with another focus or span: use another requestId`,
      }
    }
    if (!this.#wouldWait(request, isBusy, whenBusy)) return undefined
    const bytes = utf8Bytes(JSON.stringify([this.carry(), request]))
    if (bytes <= MAX_WAITING_BYTES) return undefined
    return {
      error: 'QueueFull',
      why: `compaction: the waiting requests would have ${bytes} bytes, allowed are ${MAX_WAITING_BYTES}: send it again when some have run`,
    }
  }

  /** Takes a request that {@link refusal} allows. A `busy` one is not kept. */
  add(request: NamedRequest, isBusy: boolean, whenBusy: WhenBusy): Receipt['status'] {
    const status = this.#statusOf(request, isBusy, whenBusy)
    if (status === 'joined') this.#sameAs(request)?.requestIds.add(request.requestId)
    if (status === 'queued')
      this.#waiting.push({ ...wantedOf(request), requestIds: new Set([request.requestId]) })
    return status
  }

  get size(): number {
    return this.#waiting.length
  }

  take(): AskedAttempt | undefined {
    return this.#waiting.shift()
  }

  /** Takes one caller's request back. `last`: nobody else asked for the attempt, which must not run any further. */
  withdraw(requestId: string): 'absent' | 'withdrawn' | 'last' {
    const holder = this.#holderOf(requestId)
    if (holder === undefined) return 'absent'
    if (holder === this.running && holder.requestIds.size === 1) {
      holder.isCancelled = true
      return 'last'
    }
    holder.requestIds.delete(requestId)
    this.#waiting = this.#waiting.filter((each) => each.requestIds.size > 0)
    return 'withdrawn'
  }

  /** Empties the queue. @returns the ids of all who asked */
  dropAll(): string[] {
    return this.#waiting.splice(0).flatMap((each) => [...each.requestIds])
  }

  carry(): CarriedState['compactions'] {
    return this.#waiting.map(({ requestIds, ...wanted }) => {
      const [requestId = '', ...joined] = requestIds
      return { ...wanted, requestId, joined }
    })
  }

  #statusOf(request: NamedRequest, isBusy: boolean, whenBusy: WhenBusy): Receipt['status'] {
    if (this.#holderOf(request.requestId) !== undefined) return 'known'
    if (this.#sameAs(request) !== undefined) return 'joined'
    return whenBusy === 'refuse' && (isBusy || this.#waiting.length > 0) ? 'busy' : 'queued'
  }

  #wouldWait(request: NamedRequest, isBusy: boolean, whenBusy: WhenBusy): boolean {
    const status = this.#statusOf(request, isBusy, whenBusy)
    return status === 'queued' || (status === 'joined' && this.#sameAs(request) !== this.running)
  }

  #all(): AskedAttempt[] {
    return this.running === null ? this.#waiting : [this.running, ...this.#waiting]
  }

  #holderOf(requestId: string): AskedAttempt | undefined {
    return this.#all().find((each) => each.requestIds.has(requestId))
  }

  #sameAs(request: NamedRequest): AskedAttempt | undefined {
    return this.#all().find((each) => !each.isCancelled && isSame(each, wantedOf(request)))
  }
}

/** A blank focus is none. */
function wantedOf({ focus, span }: CompactionRequest): Wanted {
  const trimmed = focus?.trim() ?? ''
  return { ...(trimmed === '' ? {} : { focus: trimmed }), ...(span === undefined ? {} : { span }) }
}

const isSame = (a: Wanted, b: Wanted): boolean =>
  a.focus === b.focus && a.span?.start === b.span?.start && a.span?.end === b.span?.end
