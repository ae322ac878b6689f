import { z } from 'zod'
import { readingSchema, requestIdSchema, sessionIdSchema } from './protocol.ts'
import { contentSchema } from './session/content.ts'
import { toolDefinitionSchema, turnEndReasonSchema, usageSchema } from './session/events.ts'

/**
 * The activities for workflows that are not ours: input and result of each. With `sessionOpen`, `sessionStartTurn`, `sessionEndTurn`, `sessionClose` and the child
 * `sessionCompaction` they are the contract for other languages (`docs/contract`).
 */

const base = { v: z.literal(1), sessionId: sessionIdSchema }
const inTurn = { ...base, turn: z.int().positive(), step: z.int().positive() }

/** A tool as the Messages API takes it, or as the log keeps it. */
const requestToolSchema = z.union([
  z.strictObject({
    name: z.string().min(1),
    description: z.string().optional(),
    input_schema: z.looseObject({}),
    type: z.literal('custom').nullish(),
  }),
  toolDefinitionSchema,
])

/** What every request of the session has besides its messages. */
export const ownRequestSchema = z
  .strictObject({
    /** Both null: no model is known, and every summary is written by code. */
    provider: z.string().min(1).nullable(),
    model: z.string().min(1).nullable(),
    system: z.string(),
    tools: z.array(requestToolSchema),
    /** `max_tokens` of a request. Default: the policy's `replyMaxTokens`. */
    maxTokens: z.int().positive().optional(),
    /** Provider settings such as `temperature` or `thinking`; a request for a summary has the same. */
    sampling: z.record(z.string(), z.unknown()).optional(),
  })
  .refine(({ provider, model }) => (provider === null) === (model === null), {
    error: 'provider and model must be set together, or both be null',
  })
export type OwnRequest = z.infer<typeof ownRequestSchema>

const contentOrText = z.union([z.string(), contentSchema])
const sessionMessageSchema = z.strictObject({
  role: z.enum(['user', 'assistant']),
  content: contentOrText,
})

/** Tokens of one call in our names, or as the Messages API reports them. */
const anyUsageSchema = z.union([
  usageSchema,
  z.object({
    input_tokens: z.int().nonnegative(),
    output_tokens: z.int().nonnegative(),
    cache_read_input_tokens: z.int().nonnegative().nullish(),
    cache_creation_input_tokens: z.int().nonnegative().nullish(),
  }),
])
export type AnyUsage = z.infer<typeof anyUsageSchema>

export const entrySchema = z.strictObject({
  /** A reply, or a user message with the results of its calls, or both kinds in one message of the user. */
  message: sessionMessageSchema,
  /** Of the call that gave this reply. */
  usage: anyUsageSchema.nullish(),
  /** Default `tool_use` for a reply with calls, else `end_turn`. */
  stopReason: z.string().nullish(),
})
export type OwnEntry = z.infer<typeof entrySchema>

export const appendInputSchema = z.strictObject({
  ...inTurn,
  entries: z.array(entrySchema),
  /** Ends the turn behind the entries. */
  end: z.strictObject({ reason: turnEndReasonSchema, message: z.string().optional() }).optional(),
})
export const stepResultSchema = z.strictObject({
  reading: readingSchema,
  /** Of the recorded reply; null before it. */
  stopReason: z.string().nullable(),
  /** Calls of the recorded reply that have no result yet. */
  calls: z.array(z.strictObject({ id: z.string(), name: z.string() })),
})
export type StepResult = z.infer<typeof stepResultSchema>

export const requestInputSchema = z.strictObject(inTurn)
export const requestResultSchema = z.strictObject({
  /** Of the next request; its size is that of the whole context. Empty when the reply is recorded. */
  messages: z.array(sessionMessageSchema),
  generation: z.int().nonnegative(),
  /** The step's reply was paid for by an earlier attempt. */
  recorded: stepResultSchema.optional(),
})

export const positionInputSchema = z.strictObject(base)
export const positionResultSchema = z.strictObject({
  reading: readingSchema,
  openTurn: z.int().positive().nullable(),
})

/** A message that the caller has, as its number in `known`, or one that it lacks. */
const messagePartSchema = z.union([z.int().nonnegative(), sessionMessageSchema])
export const messagesInputSchema = z.strictObject({
  ...base,
  /** Digests of the caller's messages. Empty: every message comes back whole. */
  known: z.array(z.string()).optional(),
  /** Default 0. For more than fits into one answer: the `next` of the answer before. */
  from: z.int().nonnegative().optional(),
})
export const messagesResultSchema = z.strictObject({
  parts: z.array(messagePartSchema),
  next: z.int().positive().nullable(),
  generation: z.int().nonnegative(),
})

/** A message of the array mode with its place: position among what is new, and the number of replies before it in its step. */
export const placedEntrySchema = z.strictObject({
  ...entrySchema.shape,
  group: z.enum(['before', 'previous', 'step']),
  position: z.int().nonnegative(),
  reply: z.int().nonnegative(),
})
export type PlacedEntry = z.infer<typeof placedEntrySchema>

const stepOfRequest = z.strictObject({ requestId: requestIdSchema, step: z.int().positive() })
export const syncInputSchema = z.strictObject({
  ...base,
  /** The turn that ends before this one begins. */
  previous: stepOfRequest.nullable(),
  /** The turn that the caller is in. */
  current: stepOfRequest.nullable(),
  /** Opens `current`. */
  prompt: contentOrText.nullable(),
  entries: z.array(placedEntrySchema),
  /** Of all messages that the caller has; null while more entries follow. */
  digest: z.string().nullable(),
  /** Ends `current` behind the entries. */
  end: turnEndReasonSchema.optional(),
})
export type SyncInput = z.infer<typeof syncInputSchema>
export const syncResultSchema = z.strictObject({
  reading: readingSchema,
  openTurn: z.int().positive().nullable(),
  /** The step that the next reply belongs to. */
  step: z.int().positive(),
  /** The caller's messages are those of the next request. */
  same: z.boolean(),
})

type In<T extends z.ZodType> = z.infer<T>

export interface OwnActivities {
  sessionAppend(input: In<typeof appendInputSchema>): Promise<StepResult>
  sessionRequest(input: In<typeof requestInputSchema>): Promise<In<typeof requestResultSchema>>
  sessionPosition(input: In<typeof positionInputSchema>): Promise<In<typeof positionResultSchema>>
  sessionMessages(input: In<typeof messagesInputSchema>): Promise<In<typeof messagesResultSchema>>
  sessionSync(input: SyncInput): Promise<In<typeof syncResultSchema>>
}
