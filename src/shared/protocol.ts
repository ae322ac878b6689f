import { z } from 'zod'
import { COMPACTION_ERROR_CODES } from './errors.ts'
import { LIMITS, SESSION_ID_PATTERN } from './limits.ts'
import { contentSchema } from './session/content.ts'
import { attemptErrorSchema, compactionCauseSchema, usageSchema } from './session/events.ts'

/**
 * The wire: names, inputs and results of workflows, activities, signals, updates and queries, one zod schema each,
 * used on both sides. Every input is one object with a version `v`; a field may be added, a meaning never changed.
 * Loaded by the workflow sandbox: imports nothing but zod and pure code.
 */

export const WORKFLOWS = { session: 'agentSession', compaction: 'sessionCompaction' } as const

export const SIGNALS = {
  prompt: 'prompt',
  requestCompaction: 'requestCompaction',
  cancelTurn: 'cancelTurn',
  cancelCompaction: 'cancelCompaction',
  pin: 'pin',
  unpin: 'unpin',
  close: 'close',
} as const
export const UPDATES = {
  submitPrompt: 'submitPrompt',
  submitCompaction: 'submitCompaction',
  configure: 'configure',
  undoCompaction: 'undoCompaction',
  cancelTurn: 'cancelTurn',
  cancelCompaction: 'cancelCompaction',
} as const
export const QUERIES = {
  sessionState: 'sessionState',
  compactionHistory: 'compactionHistory',
  contextReading: 'contextReading',
} as const

export const DEFAULT_TASK_QUEUE = 'durable-compaction'

// Parts

export const sessionIdSchema = z
  .string()
  .regex(SESSION_ID_PATTERN, 'a session id has 1 to 64 characters of A-Z a-z 0-9 . _ -')
export const requestIdSchema = z.string().min(1).max(256)

/** What every session activity returns. `held`: above the limit, and the breaker holds. `overhead`: system and tools alone are above it. */
export const readingSchema = z.strictObject({
  /** Seq of the next event. The newest reading is the one with the highest. */
  headSeq: z.int().nonnegative(),
  generation: z.int().nonnegative(),
  /** Context of the next request in the provider's tokens, estimated. */
  tokens: z.int().nonnegative(),
  /** Pressure limit; null: pressure is off. */
  limit: z.int().positive().nullable(),
  pressure: z.enum(['none', 'over', 'held', 'overhead']),
  /**
   * Why pressure starts no compaction although the policy compacts by itself. `window-unknown`: nobody knows the model's window, so the limit is null.
   * `budget-spent`: the policy's `compactionBudget` is used up; above the limit the pressure is `held`.
   */
  off: z.enum(['window-unknown', 'budget-spent']).optional(),
})
export type Reading = z.infer<typeof readingSchema>

export const taskQueuesSchema = z.strictObject({
  models: z.string().min(1).optional(),
  tools: z.string().min(1).optional(),
})
export type TaskQueues = z.infer<typeof taskQueuesSchema>

/** After this long without a beat an activity's worker counts as dead. Default 10,000; activities beat every 500. */
const heartbeatTimeoutSchema = z.int().min(1000)

export const whenBusySchema = z.enum(['refuse', 'wait'])
export type WhenBusy = z.infer<typeof whenBusySchema>

export const spanSchema = z.strictObject({ start: z.int().nonnegative(), end: z.int().nonnegative() })
export type Span = z.infer<typeof spanSchema>

/** Every field optional, so that a person can signal `{"focus": "…"}` from the Temporal UI. */
export const compactionRequestSchema = z.strictObject({
  requestId: requestIdSchema.optional(),
  focus: z.string().max(LIMITS.focusChars).optional(),
  /** Seqs of two surface nodes, inclusive, in surface order. */
  span: spanSchema.optional(),
  whenBusy: whenBusySchema.optional(),
})
export type CompactionRequest = z.infer<typeof compactionRequestSchema>

export const deliverySchema = z.enum(['next-turn', 'next-step', 'no-wake'])

/** `content` only from clients without a store (≤ 256 KiB); otherwise the body waits in the inbox under the id. */
export const promptMessageSchema = z.strictObject({
  requestId: requestIdSchema.optional(),
  content: z.union([z.string(), contentSchema]).optional(),
  delivery: deliverySchema.optional(),
})
export type PromptMessage = z.infer<typeof promptMessageSchema>

export const cancelTurnSchema = z
  .strictObject({
    turn: z.int().positive().optional(),
    requestId: requestIdSchema.optional(),
    /** The prompt of this `requestId` is taken back while it waits; the turn that it has begun goes on. */
    waitingOnly: z.literal(true).optional(),
    reason: z.string().max(1000).optional(),
  })
  .refine(({ waitingOnly, requestId }) => waitingOnly === undefined || requestId !== undefined, {
    error: 'waitingOnly needs the requestId of the prompt that waits',
  })
export type CancelTurn = z.infer<typeof cancelTurnSchema>

export const cancelCompactionSchema = z.strictObject({
  requestId: requestIdSchema,
  reason: z.string().max(1000).optional(),
})
export type CancelCompaction = z.infer<typeof cancelCompactionSchema>

/** Answer of a cancel, within one workflow task: what it has stopped, and what it leaves running. */
export const cancelReceiptSchema = z.strictObject({
  /**
   * `prompt`: one that waited. `request`: a compaction that waited, or one that others asked for, too. `starting`: the turn that is just starting, if it
   * gets the number that was named. `nothing`: there was nothing to cancel.
   */
  stopped: z.enum(['turn', 'prompt', 'compaction', 'request', 'starting', 'nothing']),
  /** What was stopped: the turn's number, null before it has one; the compaction, also one that a turn ran. */
  turn: z.int().positive().nullable(),
  compactionId: z.string().nullable(),
  /** What goes on: a compaction that a person asked for outlives the turn that it ran in. */
  goesOn: z.strictObject({ turn: z.int().positive().nullable(), compactionId: z.string().nullable() }),
})
export type CancelReceipt = z.infer<typeof cancelReceiptSchema>

export const closeSchema = z.strictObject({
  requestId: requestIdSchema.optional(),
  reason: z.string().max(1000).optional(),
})
export type CloseRequest = z.infer<typeof closeSchema>

/** Answer of an update, within one workflow task. `known`: it waits or runs already. */
export const receiptSchema = z.strictObject({
  requestId: requestIdSchema,
  status: z.enum(['queued', 'joined', 'busy', 'known']),
  /** True when the body is in the store; false when it travelled inline and the next activity stores it. */
  stored: z.boolean(),
})
export type Receipt = z.infer<typeof receiptSchema>

// Outcome of a compaction

export const paidSchema = z.strictObject({
  /** Calls paid in this run of the attempt, and those taken from the store instead of being paid again. */
  calls: z.int().nonnegative(),
  reused: z.int().nonnegative(),
  usage: usageSchema,
})
export type Paid = z.infer<typeof paidSchema>

export const compactionOutcomeSchema = z.strictObject({
  v: z.literal(1),
  compactionId: z.string(),
  outcome: z.enum(['compacted', 'pruned', 'nothing', 'failed']),
  /** For `nothing`: below-threshold, empty, only-tail, only-checkpoint, busy, refused, budget-spent, …; for `compacted`: `deterministic` when no model wrote the summary. */
  reason: z.string().optional(),
  /** The sentence of the hook that refused it. */
  message: z.string().optional(),
  /** The focus as `beforeCompaction` amended it; empty: it took it away. */
  focus: z.string().optional(),
  /** What a hook of the worker failed with. The compaction is what it would be without that hook. */
  hookError: z.string().optional(),
  reading: readingSchema,
  tokensBefore: z.int().nonnegative(),
  tokensAfter: z.int().nonnegative(),
  startSeq: z.int().optional(),
  summarySeq: z.int().optional(),
  checkpointSeq: z.int().optional(),
  endSeq: z.int().optional(),
  paid: paidSchema,
  /** `provider/model` that wrote the summary. */
  model: z.string().optional(),
  /** Models that were asked before it and failed, each with its reason: `anthropic/a (overloaded), openai/b (truncated)`. */
  failedModels: z.string().optional(),
  error: attemptErrorSchema.optional(),
})
export type CompactionOutcome = z.infer<typeof compactionOutcomeSchema>

/** One line of `compactionHistory`: the outcome, who asked, and when. */
export const compactionRecordSchema = z.strictObject({
  compactionId: z.string(),
  cause: compactionCauseSchema,
  turn: z.int().positive().nullable(),
  focus: z.string().optional(),
  outcome: z.enum(['running', 'compacted', 'pruned', 'nothing', 'failed']),
  reason: z.string().optional(),
  /** The sentence of the hook that refused it. */
  message: z.string().optional(),
  hookError: z.string().optional(),
  tokensBefore: z.int().optional(),
  tokensAfter: z.int().optional(),
  startSeq: z.int().optional(),
  summarySeq: z.int().optional(),
  endSeq: z.int().optional(),
  paidCalls: z.int().optional(),
  model: z.string().optional(),
  failedModels: z.string().optional(),
  errorCode: z.enum(COMPACTION_ERROR_CODES).optional(),
  errorMessage: z.string().optional(),
  /** Workflow time in milliseconds since the epoch. */
  startedAt: z.number(),
  endedAt: z.number().optional(),
})
export type CompactionRecord = z.infer<typeof compactionRecordSchema>

// Workflows

/**
 * What `start` asks for. What is left out stays as the session had it, or, of a new one, is empty. Policy is the caller's raw policy; it is resolved and checked in the first activity.
 */
export const sessionStartSchema = z.strictObject({
  /** `provider/model`, or null for a session without a model. */
  model: z.string().nullable(),
  system: z.string().optional(),
  /** Names of tools of the worker. */
  tools: z.array(z.string()).optional(),
  sampling: z.record(z.string(), z.unknown()).optional(),
  policy: z.record(z.string(), z.unknown()).optional(),
  /** Name of a preset: `default`, `lean`, `threeLevel`. */
  preset: z.string().optional(),
})
export type SessionStart = z.infer<typeof sessionStartSchema>

/** Carried by continue-as-new, under 16 KB. */
export const carriedStateSchema = z.strictObject({
  /** Request ids that wait, in order. Their bodies are in the inbox. */
  prompts: z.array(z.strictObject({ requestId: requestIdSchema, delivery: deliverySchema })),
  compactions: z.array(
    z.strictObject({
      requestId: requestIdSchema,
      focus: z.string().optional(),
      span: spanSchema.optional(),
      /** Requests that joined this one. */
      joined: z.array(requestIdSchema),
    }),
  ),
  reading: readingSchema.optional(),
  history: z.array(compactionRecordSchema),
  compactionCount: z.int().nonnegative(),
  refused: z.int().nonnegative(),
  autoIds: z.int().nonnegative(),
  closing: closeSchema.optional(),
})
export type CarriedState = z.infer<typeof carriedStateSchema>

export const sessionWorkflowInputSchema = z.strictObject({
  v: z.literal(1),
  /** Absent when a message woke the session: it goes on with its recorded header. */
  start: sessionStartSchema.optional(),
  taskQueues: taskQueuesSchema.optional(),
  heartbeatTimeoutMs: heartbeatTimeoutSchema.optional(),
  carried: carriedStateSchema.optional(),
  /** Only for tests and benchmarks: roll over after this many events or messages. */
  rollOver: z
    .strictObject({ events: z.int().positive().optional(), messages: z.int().positive().optional() })
    .optional(),
})
export type SessionWorkflowInput = z.infer<typeof sessionWorkflowInputSchema>

export const compactionInputSchema = z.strictObject({
  v: z.literal(1),
  sessionId: sessionIdSchema,
  compactionId: z.string().min(1).max(180),
  turn: z.int().positive().nullable(),
  cause: compactionCauseSchema,
  focus: z.string().max(LIMITS.focusChars).optional(),
  span: spanSchema.optional(),
  /** Inbox rows that get the outcome. */
  requestIds: z.array(requestIdSchema).optional(),
  taskQueues: taskQueuesSchema.optional(),
  heartbeatTimeoutMs: heartbeatTimeoutSchema.optional(),
})
export type CompactionInput = z.infer<typeof compactionInputSchema>

// Queries

/** Why the session does not compact by itself although it should, in one word and one sentence. */
export const blockedSchema = z.strictObject({
  reason: z.enum(['held', 'overhead', 'window-unknown', 'budget-spent']),
  message: z.string(),
})
export type Blocked = z.infer<typeof blockedSchema>

export const sessionStateSchema = z.strictObject({
  sessionId: z.string(),
  status: z.enum(['starting', 'idle', 'running', 'compacting', 'closing', 'failed']),
  life: z.int().nonnegative(),
  turn: z.int().positive().nullable(),
  step: z.int().positive().nullable(),
  requestId: z.string().nullable(),
  compactionId: z.string().nullable(),
  reading: readingSchema.nullable(),
  waitingPrompts: z.int().nonnegative(),
  waitingCompactions: z.int().nonnegative(),
  /** Messages that the handlers refused: not of a known shape. */
  refusedMessages: z.int().nonnegative(),
  /** Of this life of the workflow; the store has those of all lives. */
  compactions: z.int().nonnegative(),
  /** Automatic compaction that does not run, and why; null while nothing is in its way. */
  blocked: blockedSchema.nullable(),
  /** The newest automatic compaction, when it failed. */
  lastFailure: compactionRecordSchema.nullable(),
  /** Why the start was refused, for `failed`. */
  error: z.string().nullable(),
})
export type SessionState = z.infer<typeof sessionStateSchema>

/** One sentence about the first problem of a value, or undefined when it fits the schema. Used by validators on both sides. */
export function problemOf(schema: z.ZodType, value: unknown, what: string): string | undefined {
  const parsed = schema.safeParse(value)
  if (parsed.success) return undefined
  const issue = parsed.error.issues[0]
  const path = issue === undefined ? '' : issue.path.map(String).join('.')
  return `${what}${path === '' ? '' : `.${path}`}: ${issue?.message ?? 'not of the expected shape'}`
}
