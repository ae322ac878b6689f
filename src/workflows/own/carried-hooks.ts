import type { CompactionRecord, Reading } from '../../shared/protocol.ts'
import type { KnownPrefix } from '../../shared/session/message-digest.ts'
import { utf8Bytes } from '../../shared/session/prompt-content.ts'

/** What `compactionHooks` hands to the next run: small, without messages. */
export interface CarriedHooks {
  readonly v: 1
  /** Digest of request and policy: the same ones need not be opened again. */
  readonly opened: string
  readonly compactionRetries: number
  readonly maxOverflowRetries: number
  readonly reading: Reading | null
  readonly attempts: StepAttempts
  readonly manual: number
  readonly array: ArrayState
  /** Oldest first. */
  readonly history: readonly CompactionRecord[]
  readonly compactions: number
}

/** Compactions of one step. */
export interface StepAttempts {
  readonly at: string
  readonly pressure: number
  readonly overflow: number
}

/** How far the log has the caller's messages. */
export interface ArrayState {
  readonly known: KnownPrefix
  /** The caller's number of its turn; null before the first. */
  readonly turn: number | null
  readonly requestId: string | null
  /** The step of the next reply, by the log's count. */
  readonly step: number
  /** Of the surface that the caller's messages were taken from. */
  readonly generation: number
}

/** Bytes of JSON. */
const CARRIED_BYTES = 4096

/** Drops the oldest records, which the store has too. */
export function fitHooks(state: CarriedHooks): CarriedHooks {
  let { history } = state
  while (history.length > 0 && utf8Bytes(JSON.stringify({ ...state, history })) > CARRIED_BYTES)
    history = history.slice(1)
  return { ...state, history }
}
