import { z } from 'zod'
import { readingSchema, requestIdSchema, sessionIdSchema } from './protocol.ts'

/**
 * The wire of control requests: pin, unpin, undo, configure. One body each, kept in the store's inbox under the request's id, and the messages that bring it. A
 * message with nothing but a `requestId` names a body that waits in the inbox.
 */

const seqSchema = z.int().nonnegative()
const compactionIdSchema = z.string().min(1).max(180)

const configureFields = {
  /** `provider/model`, or null for a session without a model. */
  model: z.string().nullable().optional(),
  system: z.string().optional(),
  /** Names of tools of the worker; they take the place of all that the session has. */
  tools: z.array(z.string()).optional(),
  /** Takes the place of the policy that the session was started with; its preset stays. */
  policy: z.record(z.string(), z.unknown()).optional(),
}

/** What waits in the inbox, kind `control`. */
export const controlRequestSchema = z.discriminatedUnion('kind', [
  z
    .strictObject({ kind: z.literal('pin'), text: z.string().min(1).optional(), seq: seqSchema.optional() })
    .refine(({ text, seq }) => (text === undefined) !== (seq === undefined), 'needs either text or seq'),
  z.strictObject({ kind: z.literal('unpin'), id: z.string().min(1).max(300) }),
  z.strictObject({ kind: z.literal('undo'), compactionId: compactionIdSchema }),
  z
    .strictObject({ kind: z.literal('configure'), ...configureFields })
    .refine(
      ({ kind: _, ...changes }) => Object.values(changes).some((value) => value !== undefined),
      'needs at least one of model, system, tools, policy',
    ),
])
export type ControlRequest = z.infer<typeof controlRequestSchema>

export type ConfigureRequest = Extract<ControlRequest, { kind: 'configure' }>

export interface NamedControl {
  readonly requestId: string
  /** Absent: it waits in the inbox. */
  readonly body?: ControlRequest | undefined
}

// Messages

const base = { requestId: requestIdSchema.optional() }
export const pinSchema = z.strictObject({
  ...base,
  text: z.string().optional(),
  /** A message of the log, whose text is pinned. */
  seq: seqSchema.optional(),
})
export type PinMessage = z.infer<typeof pinSchema>
export const unpinSchema = z.strictObject({ ...base, id: z.string().optional() })
export type UnpinMessage = z.infer<typeof unpinSchema>
export const undoSchema = z.strictObject({ ...base, compactionId: compactionIdSchema.optional() })
export type UndoMessage = z.infer<typeof undoSchema>
export const configureSchema = z.strictObject({ ...base, ...configureFields })
export type ConfigureMessage = z.infer<typeof configureSchema>

// The activity

export const controlInputSchema = z.strictObject({
  v: z.literal(1),
  sessionId: sessionIdSchema,
  requests: z.array(z.strictObject({ requestId: requestIdSchema, body: controlRequestSchema.optional() })),
})
/** What holds from now on. */
export const controlResultSchema = z.strictObject({
  reading: readingSchema,
  idleTimeoutMs: z.int().positive().nullable(),
  compactionRetries: z.int().nonnegative(),
  maxOverflowRetries: z.int().nonnegative(),
  /** Messages that could not be taken at all: no such body in the inbox, or the id with other content. */
  refused: z.int().nonnegative(),
})
