import type { NamedControl } from '../shared/control-protocol.ts'
import { LIMITS } from '../shared/limits.ts'
import { utf8Bytes } from '../shared/session/prompt-content.ts'
import { fingerprintOf } from './message-ids.ts'
import type { Refusal } from './prompt-queue.ts'

// Control requests of which messages told, until the next boundary. The queue itself is the store's inbox. Pure.

/** Bodies go to one activity: below the server's limit of 2 MiB for one payload. */
const MAX_INLINE_BYTES = 1024 * 1024

interface Waiting extends NamedControl {
  readonly bytes: number
  /** Of a body that came inline, so that the same id with another body is seen. */
  readonly fingerprint?: number
}

export class ControlQueue {
  #waiting: Waiting[] = []
  /** The inbox holds requests that no message here names. */
  #isDue = false

  /** Why a request cannot be taken, or undefined. Changes nothing. */
  refusal({ requestId, body }: NamedControl): Refusal | undefined {
    if (body === undefined) return undefined
    const known = this.#waiting.find((each) => each.requestId === requestId)
    if (known !== undefined) {
      const isOther = known.fingerprint !== undefined && known.fingerprint !== fingerprintOf(body)
      return isOther ? conflictOf(body.kind, requestId) : undefined
    }
    const bytes = bytesOf(body)
    if (bytes > LIMITS.inlineBytes) {
      const why = `${body.kind}: ${bytes} bytes inline, allowed are ${LIMITS.inlineBytes}: use a client that has the store`
      return { error: 'InvalidInput', why }
    }
    const all = this.#waiting.reduce((sum, each) => sum + each.bytes, bytes)
    if (this.#waiting.length < LIMITS.waitingPrompts && all <= MAX_INLINE_BYTES) return undefined
    const why = `${body.kind}: ${this.#waiting.length + 1} requests of ${all} bytes would wait, allowed are ${LIMITS.waitingPrompts} and ${MAX_INLINE_BYTES}: send it again when some are served`
    return { error: 'QueueFull', why }
  }

  /** Takes a request that {@link refusal} allows. */
  add({ requestId, body }: NamedControl): 'queued' | 'known' {
    if (this.#waiting.some((each) => each.requestId === requestId)) return 'known'
    if (body !== undefined)
      this.#waiting.push({ requestId, body, bytes: bytesOf(body), fingerprint: fingerprintOf(body) })
    else if (this.#waiting.length < LIMITS.waitingPrompts) this.#waiting.push({ requestId, bytes: 0 })
    else this.#isDue = true
    return 'queued'
  }

  /** There are rows in the inbox that wait. */
  adopt(): void {
    this.#isDue = true
  }

  get isDue(): boolean {
    return this.#isDue || this.#waiting.length > 0
  }

  /** A body is nowhere but here. */
  get hasInline(): boolean {
    return this.#waiting.some((each) => each.body !== undefined)
  }

  take(): { requestId: string; body?: NonNullable<NamedControl['body']> }[] {
    this.#isDue = false
    return this.#waiting
      .splice(0)
      .map(({ requestId, body }) => ({ requestId, ...(body === undefined ? {} : { body }) }))
  }
}

const bytesOf = (body: unknown): number => utf8Bytes(JSON.stringify(body))

const conflictOf = (kind: string, requestId: string): Refusal => ({
  error: 'KeyConflict',
  why: `${kind}: ${requestId} was sent with other content: use another requestId`,
})
