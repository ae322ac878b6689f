export type InboxKind = 'prompt' | 'compaction' | 'control'
export type InboxState = 'waiting' | 'running' | 'done' | 'refused'
export type Delivery = 'next-turn' | 'next-step' | 'no-wake'

export interface PutInbox {
  readonly sessionId: string
  readonly requestId: string
  readonly kind: InboxKind
  /** Prompt: content blocks. Compaction, control: the request. Its canonical JSON is the fingerprint. */
  readonly body: unknown
  readonly delivery?: Delivery
}

export interface InboxRow extends PutInbox {
  readonly state: InboxState
  /** False when this call found the row. */
  readonly isNew: boolean
  /** Head of the log when it was accepted. */
  readonly acceptedAt: number
  /** Position in order of arrival. */
  readonly position: number
  readonly outcome: unknown
}
