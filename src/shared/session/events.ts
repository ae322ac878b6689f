import { z } from 'zod'
import { checkpointStateSchema } from '../compaction/checkpoint-state.ts'
import { resolvedPolicySchema } from '../compaction/policy-schema.ts'
import { COMPACTION_ERROR_CODES } from '../errors.ts'
import { contentSchema } from './content.ts'

/** The vocabulary of the session log: one zod schema per event type, and the types that follow from it. */

const seq = z.int().nonnegative()
const tokens = z.int().nonnegative()

/** Tokens of one model call as the provider reports them; missing buckets are 0. */
export const usageSchema = z.strictObject({
  inputTokens: tokens,
  outputTokens: tokens,
  cacheReadTokens: tokens,
  cacheWriteTokens: tokens,
})
export type Usage = z.infer<typeof usageSchema>

export const messageSourceSchema = z.enum([
  'prompt',
  'import',
  'context',
  'notice',
  'durable-compaction/checkpoint',
])
export type MessageSource = z.infer<typeof messageSourceSchema>

export const toolDefinitionSchema = z.strictObject({
  name: z.string().min(1),
  description: z.string(),
  /** JSON Schema of the input. */
  inputSchema: z.record(z.string(), z.unknown()),
})
export type ToolDefinition = z.infer<typeof toolDefinitionSchema>

export const headerSchema = z.strictObject({
  /** Null when the session has no model: every summary is deterministic then. */
  provider: z.string().min(1).nullable(),
  model: z.string().min(1).nullable(),
  system: z.string(),
  tools: z.array(toolDefinitionSchema),
  /** Provider settings such as `temperature` or `thinking`, passed on as they are. */
  sampling: z.record(z.string(), z.unknown()),
  policy: resolvedPolicySchema,
  /** What was asked for, from which a change of one setting decides all others anew. */
  asked: z
    .strictObject({
      tools: z.array(z.string()),
      policy: z.record(z.string(), z.unknown()).optional(),
      preset: z.string().optional(),
    })
    .optional(),
})
export type Header = z.infer<typeof headerSchema>

export const compactionCauseSchema = z.enum(['pressure', 'context-overflow', 'manual', 'tool', 'region'])
export type CompactionCause = z.infer<typeof compactionCauseSchema>
export type CompactionTrigger = Extract<CompactionCause, 'pressure' | 'context-overflow'>

export const turnEndReasonSchema = z.enum([
  'completed',
  'aborted',
  'error',
  'max-tokens',
  'blocked',
  'interrupted',
])
export type TurnEndReason = z.infer<typeof turnEndReasonSchema>

export const refusalSchema = z.enum([
  'truncated',
  'refusal',
  'paused',
  'tool-use',
  'blank',
  'thinking-only',
  'markup',
  'not-text',
  'not-smaller',
  'too-long',
])
export type RefusalReason = z.infer<typeof refusalSchema>

export const attemptErrorSchema = z.strictObject({
  code: z.enum(COMPACTION_ERROR_CODES),
  /** Where it failed: prepare, summarize, commit, or the name of the closer. */
  stage: z.string(),
  message: z.string(),
})
export type AttemptError = z.infer<typeof attemptErrorSchema>

/** What people are told once. It stands in the log alone: the model can do nothing about it. */
export const noticeCodeSchema = z.enum([
  'held',
  'overhead',
  'window-unknown',
  'budget-spent',
  'hook-failed',
  'short-reply',
  'call-as-text',
  'summarizer-failed',
])
export type NoticeCode = z.infer<typeof noticeCodeSchema>

/** Why a paid call left nothing. */
export const lostBecauseSchema = z.enum(['failed', 'cancelled', 'late'])
export type LostBecause = z.infer<typeof lostBecauseSchema>

/** A model that wrote no summary, and why in a word: the kind of its failure, or why its answer was refused. */
export const failedModelSchema = z.strictObject({
  provider: z.string(),
  model: z.string(),
  reason: z.string(),
})
export type FailedModel = z.infer<typeof failedModelSchema>

const shadowedRangeSchema = z.strictObject({ start: seq, end: seq })

/** What a checkpoint dropped. */
export const lostSchema = z.strictObject({
  /** Shadowed nodes and identifiers by kind. */
  counts: z.record(z.string(), z.int().nonnegative()),
  /** Identifiers of the span that are not in the checkpoint, best first, bounded. */
  identifiers: z.array(z.string()),
})
export type Lost = z.infer<typeof lostSchema>

export const eventDataSchemas = {
  'session/start': z.strictObject({ formatVersion: z.literal(1) }),
  'session/end-seed': z.strictObject({}),
  'request/header': headerSchema,
  'turn/start': z.strictObject({ turn: z.int().positive(), requestId: z.string() }),
  'turn/end': z.strictObject({
    turn: z.int().positive(),
    reason: turnEndReasonSchema,
    /** For `error`, in the provider's own words where it is the provider's. */
    message: z.string().optional(),
    /** For `error`: the name of the expected failure, such as `ContextTooLarge`. */
    code: z.string().optional(),
  }),
  'step/start': z.strictObject({ turn: z.int().positive(), step: z.int().positive() }),
  'step/end': z.strictObject({ turn: z.int().positive(), step: z.int().positive() }),
  'user/message': z.strictObject({
    content: contentSchema,
    source: messageSourceSchema,
    /** The prompt's id, for source `prompt`. */
    requestId: z.string().optional(),
  }),
  'assistant/message': z.strictObject({
    content: contentSchema,
    usage: usageSchema.nullable(),
    stopReason: z.string(),
    provider: z.string(),
    model: z.string(),
    interrupted: z.boolean().optional(),
    /** Head of the log when the request was built: it is made of the events before it, and can be built again from them. */
    requestHead: seq.optional(),
    /** `max_tokens` of the request, where the input left no room for the policy's `replyMaxTokens`. */
    maxTokens: z.int().positive().optional(),
  }),
  /**
   * A call of a turn that was paid, or may have been, and whose reply stands nowhere: it failed or was cancelled on its way, or its reply came when the
   * step had one or the turn had ended.
   */
  'assistant/lost': z.strictObject({
    turn: z.int().positive(),
    step: z.int().positive(),
    provider: z.string(),
    model: z.string(),
    why: lostBecauseSchema,
    /** As far as the provider had told. */
    usage: usageSchema.optional(),
  }),
  'session/pin': z.strictObject({ id: z.string(), text: z.string().optional(), seq: seq.optional() }),
  'session/unpin': z.strictObject({ id: z.string() }),
  'session/notice': z.strictObject({
    code: noticeCodeSchema,
    message: z.string(),
    compactionId: z.string().optional(),
    /** For `summarizer-failed`: who, and whether it is asked again when the others have failed, too. */
    failed: z.strictObject({ ...failedModelSchema.shape, mayRecover: z.boolean() }).optional(),
  }),
  'session/close': z.strictObject({ reason: z.string().optional() }),
  'tool/claim': z.strictObject({
    callId: z.string(),
    runId: z.string(),
    attempt: z.int(),
    /** Its workflow was asked to run it: the claiming attempt itself ran nothing. */
    handed: z.literal(true).optional(),
  }),
  'tool/result': z.strictObject({
    callId: z.string(),
    name: z.string(),
    content: contentSchema,
    isError: z.boolean(),
    /** The seq of the uncut output (`tool/output`), when the result was cut at intake. */
    full: seq.optional(),
  }),
  'tool/output': z.strictObject({
    callId: z.string(),
    name: z.string(),
    content: contentSchema,
    /** Bytes beyond the limit that were counted and not kept. */
    droppedBytes: z.int().nonnegative(),
  }),
  'compact/start': z.strictObject({
    compactionId: z.string(),
    turn: z.int().positive().nullable(),
    cause: compactionCauseSchema,
    focus: z.string().optional(),
  }),
  'compact/call': z.strictObject({
    compactionId: z.string(),
    index: z.int().nonnegative(),
    purpose: z.enum(['chunk', 'merge', 'summary', 'retry']),
    provider: z.string(),
    model: z.string(),
    maxTokens: z.int().positive().optional(),
    stopReason: z.string(),
    rawOutput: contentSchema.optional(),
    usage: usageSchema.optional(),
    accepted: z.boolean(),
    refusedBecause: refusalSchema.optional(),
    /** Head of the log when the request was built. */
    requestHead: seq.optional(),
  }),
  'compact/prune': z.strictObject({
    shadowedRange: shadowedRangeSchema,
    shadowedSeqs: z.array(seq),
    shadowedTokenCount: tokens,
  }),
  'compact/summary': z.strictObject({
    compactionId: z.string(),
    summary: contentSchema,
    /** With `llmStreamCall`: the complete output of the one call whose text was accepted. */
    rawOutput: contentSchema.optional(),
    llmStreamCall: z.literal(true).optional(),
    shadowedRange: shadowedRangeSchema,
    /** In surface order; authoritative. */
    shadowedSeqs: z.array(seq),
    shadowedTokenCount: tokens,
    provider: z.string(),
    model: z.string(),
    maxTokens: z.int().positive().optional(),
    usage: usageSchema.optional(),
    /** Models that were asked before. */
    failed: z.array(failedModelSchema).optional(),
    lost: lostSchema,
    /** What the next checkpoint starts from, carried by code. */
    ledger: checkpointStateSchema,
  }),
  'compact/end': z.strictObject({
    compactionId: z.string(),
    turn: z.int().positive().nullable(),
    error: attemptErrorSchema.optional(),
  }),
  'compact/restore': z.strictObject({ compactionId: z.string(), checkpoint: seq }),
} as const

export type EventType = keyof typeof eventDataSchemas
export type EventData<T extends EventType> = z.infer<(typeof eventDataSchemas)[T]>

/** Events that stand on the surface: what the model sees. */
export const SURFACE_TYPES = ['user/message', 'assistant/message', 'tool/result'] as const
export type SurfaceType = (typeof SURFACE_TYPES)[number]

/**
 * How an event changes the surface. `replace` takes the place of the span between two current nodes, in surface
 * order; `restore` gives the place of `node` back to the nodes that it shadows. Both raise the generation by one.
 */
export const surfaceOpSchema = z.union([
  z.literal('append'),
  z.strictObject({ op: z.literal('replace'), start: seq, end: seq }),
  z.strictObject({ op: z.literal('restore'), node: seq }),
])
export type SurfaceOp = z.infer<typeof surfaceOpSchema>

export interface NewEventOf<T extends EventType> {
  /** Unique in the session, derived from what the event is (`keys.ts`). */
  readonly key: string
  readonly type: T
  /** Null: belongs to no turn. */
  readonly turn: number | null
  readonly step: number | null
  readonly data: EventData<T>
  /** Price of the content in tokens of our counter, measured once, when written; 0 for events that are no message. */
  readonly tokens: number
  readonly surfaceOp?: SurfaceOp
  readonly sourceEventSeqs?: readonly number[]
}

/** An event to be written. */
export type NewEvent<T extends EventType = EventType> = { [K in T]: NewEventOf<K> }[T]

/** A written event. `seq` counts from 0 without gaps; `time` is in milliseconds since the epoch. */
export type SessionEvent<T extends EventType = EventType> = {
  [K in T]: NewEventOf<K> & { readonly seq: number; readonly time: number }
}[T]

/** A node of the surface: a message event that is not shadowed. */
export type SurfaceNode = SessionEvent<SurfaceType>

export const isSurfaceType = (type: string): type is SurfaceType =>
  (SURFACE_TYPES as readonly string[]).includes(type)

/** Parses one event's data by its type. @throws ZodError when the data does not match. */
export function parseEventData<T extends EventType>(type: T, data: unknown): EventData<T> {
  return eventDataSchemas[type].parse(data) as EventData<T>
}
