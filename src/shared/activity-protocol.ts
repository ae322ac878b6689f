import { z } from 'zod'
import type { controlInputSchema, controlResultSchema } from './control-protocol.ts'
import { ownRequestSchema } from './own-protocol.ts'
import {
  type CompactionOutcome,
  compactionInputSchema,
  compactionOutcomeSchema,
  compactionRequestSchema,
  deliverySchema,
  paidSchema,
  promptMessageSchema,
  readingSchema,
  requestIdSchema,
  sessionIdSchema,
  sessionStartSchema,
} from './protocol.ts'
import { contentSchema } from './session/content.ts'
import { attemptErrorSchema, compactionCauseSchema, turnEndReasonSchema } from './session/events.ts'

/** The activities' side of the wire: input and result of each, ids and numbers only. Loaded by the workflow sandbox too. */

const base = { v: z.literal(1), sessionId: sessionIdSchema }
const inTurn = { ...base, turn: z.int().positive(), step: z.int().positive() }

export const openInputSchema = z.strictObject({
  ...base,
  start: sessionStartSchema.optional(),
  /** Instead of `start`, from a workflow that makes its own requests: what they have besides messages. */
  header: ownRequestSchema.optional(),
  /** With `header`: the raw policy. */
  policy: z.record(z.string(), z.unknown()).optional(),
  preset: z.string().optional(),
})
export const openResultSchema = z.strictObject({
  life: z.int().positive(),
  reading: readingSchema,
  idleTimeoutMs: z.int().positive().nullable(),
  /** A turn that an earlier run of this life left open. */
  openTurn: z.strictObject({ turn: z.int().positive(), requestId: z.string() }).nullable(),
  /** Prompts that wait in the store's inbox, which no signal of this life may have named. `no-wake` ones are left out. */
  waiting: z.array(z.strictObject({ requestId: requestIdSchema, delivery: deliverySchema })),
  /** Control requests wait in the inbox. */
  controlsWait: z.boolean(),
  /** With `header`: counts of the policy, which the workflow keeps. */
  compactionRetries: z.int().nonnegative().optional(),
  maxOverflowRetries: z.int().nonnegative().optional(),
})

export const startTurnInputSchema = z.strictObject({
  ...base,
  requestId: requestIdSchema,
  /** Inline prompt: from a client without a store, an own workflow or another language. */
  message: z
    .union([
      z.string(),
      contentSchema,
      z.strictObject({ role: z.literal('user'), content: z.union([z.string(), contentSchema]) }),
    ])
    .optional(),
})
export const startTurnResultSchema = z.strictObject({
  turn: z.int().positive(),
  status: z.enum(['new', 'resumed', 'ended']),
  /** The step to run next. */
  step: z.int().positive(),
  reading: readingSchema,
  compactionRetries: z.int().nonnegative(),
  maxOverflowRetries: z.int().nonnegative(),
  endReason: turnEndReasonSchema.optional(),
})

export const callModelInputSchema = z.strictObject({
  ...inTurn,
  /** No compaction follows any more: where the input leaves no room for the whole reply, a shorter one is asked for. */
  shortReply: z.literal(true).optional(),
})
export const callModelResultSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('reply'),
    reading: readingSchema,
    /** Calls to run, in order; those that code answered already (the `compact` tool, calls over the limit) are left out. */
    calls: z.array(
      z.strictObject({
        callId: z.string(),
        queue: z.string().optional(),
        timeoutMs: z.int().positive(),
        /** Further attempts after a failed one. */
        retries: z.int().positive().optional(),
      }),
    ),
    /** The model called `compact`. */
    compact: z.strictObject({ callId: z.string(), focus: z.string().optional() }).optional(),
    /** Waiting `next-step` prompts that joined this step. */
    joined: z.array(requestIdSchema).optional(),
    /** Present when this reply ended the turn. */
    ended: turnEndReasonSchema.optional(),
    stopReason: z.string(),
  }),
  z.strictObject({
    kind: z.literal('needs-compaction'),
    reading: readingSchema,
    /** Why the request cannot be sent, with its numbers: the turn's error when no compaction helps. */
    message: z.string(),
    /** With `shortReply` it can be sent. */
    fitsShorter: z.literal(true).optional(),
  }),
])

export const runToolInputSchema = z.strictObject({ ...inTurn, callId: z.string().min(1) })
/** The work of a call that is an activity of the user's own: the workflow runs it. */
export const toolWorkSchema = z.strictObject({
  activity: z.string().min(1),
  taskQueue: z.string().min(1).optional(),
  input: z.unknown(),
  context: z.strictObject({ sessionId: sessionIdSchema, callId: z.string(), idempotencyKey: z.string() }),
  timeoutMs: z.int().positive(),
  queueTimeoutMs: z.int().positive(),
  heartbeatTimeoutMs: z.int().positive().optional(),
  attempts: z.int().positive(),
})
export type ToolWork = z.infer<typeof toolWorkSchema>
export const runToolResultSchema = z.strictObject({
  reading: readingSchema,
  isError: z.boolean(),
  /** Not run yet: `sessionLandTool` lands what comes of it. */
  work: toolWorkSchema.optional(),
})

/** `no-worker`: it was never begun. `timeout`: it may have done its work. `too-large`: it has. `crowded`: it was not begun, as this step has filled the history. */
const workFailureSchema = z.strictObject({
  kind: z.enum(['failed', 'no-worker', 'timeout', 'too-large', 'crowded']),
  message: z.string(),
})
export const landToolInputSchema = z.strictObject({
  ...runToolInputSchema.shape,
  end: z.union([
    z.strictObject({ content: contentSchema, isError: z.boolean() }),
    z.strictObject({ failure: workFailureSchema }),
  ]),
})
export type WorkEnd = z.infer<typeof landToolInputSchema>['end']

export const endTurnInputSchema = z.strictObject({
  ...base,
  turn: z.int().positive(),
  reason: turnEndReasonSchema,
  message: z.string().optional(),
  code: z.string().optional(),
})

export const acceptInputSchema = z.strictObject({
  ...base,
  prompts: z.array(promptMessageSchema.required({ requestId: true })),
  compactions: z.array(compactionRequestSchema.required({ requestId: true })),
})
export const acceptResultSchema = z.strictObject({
  /** Ids that the store refused, with the name of the error. */
  refused: z.array(z.strictObject({ requestId: requestIdSchema, error: z.string() })),
})

export const settleInputSchema = z.strictObject({
  ...base,
  rows: z.array(
    z.strictObject({
      requestId: requestIdSchema,
      state: z.enum(['done', 'refused']),
      compactionId: z.string().optional(),
      error: z.string().optional(),
    }),
  ),
})
export const closeSessionInputSchema = z.strictObject({
  ...base,
  requestId: requestIdSchema,
  reason: z.string().optional(),
})
export const readingResultSchema = z.strictObject({ reading: readingSchema })

const parentSchema = z.strictObject({ workflowId: z.string().min(1), runId: z.string().min(1) })

/** The compaction activities act for the parent's run; `sessionCompaction` passes it on from its own workflow info. */
export const compactionActivityInputSchema = z.strictObject({
  ...compactionInputSchema.shape,
  parent: parentSchema,
})
export type CompactionActivityInput = z.infer<typeof compactionActivityInputSchema>

const prepared = {
  /** Hooks of this worker that are to be told of the end. Absent: none, and nothing more is scheduled. */
  hooks: z.array(z.enum(['afterCompaction', 'compactionFailed'])).optional(),
  /** What `beforeCompaction` did to the attempt, for its outcome. */
  focus: z.string().optional(),
  hookError: z.string().optional(),
}
export const prepareResultSchema = z.discriminatedUnion('kind', [
  z.strictObject({ ...prepared, kind: z.literal('planned'), chunks: z.int().positive() }),
  z.strictObject({ ...prepared, kind: z.literal('done'), outcome: compactionOutcomeSchema }),
])
/** The attempt's summary is stored under its key; only what was paid comes back. */
export const summarizeResultSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('summarized'), paid: paidSchema, deterministic: z.boolean() }),
  z.strictObject({ kind: z.literal('failed'), paid: paidSchema, error: attemptErrorSchema }),
])
export const commitInputSchema = z.strictObject({
  ...compactionActivityInputSchema.shape,
  paid: paidSchema,
  deterministic: z.boolean(),
})
/** Tells the worker's hooks of an attempt's end. */
export const runHooksInputSchema = z.strictObject({
  ...compactionActivityInputSchema.shape,
  outcome: compactionOutcomeSchema,
})
export const runHooksResultSchema = z.strictObject({
  /** With what a hook appended. */
  reading: readingSchema,
  hookError: z.string().optional(),
})
export const closeAttemptInputSchema = z.strictObject({
  ...base,
  compactionId: z.string(),
  error: attemptErrorSchema,
  requestIds: z.array(requestIdSchema).optional(),
  /** From a closer of an attempt whose own workflow cannot tell the hooks: `compactionFailed` is told here, when the attempt failed. */
  tell: z
    .strictObject({
      cause: compactionCauseSchema,
      turn: z.int().positive().nullable(),
      focus: z.string().optional(),
      parent: parentSchema,
    })
    .optional(),
})

type In<T extends z.ZodType> = z.infer<T>

/** Activity types begin with `session`, so that they cannot hide a user's. */
export interface SessionActivities {
  sessionOpen(input: In<typeof openInputSchema>): Promise<In<typeof openResultSchema>>
  sessionAccept(input: In<typeof acceptInputSchema>): Promise<In<typeof acceptResultSchema>>
  sessionSettle(input: In<typeof settleInputSchema>): Promise<void>
  sessionControl(input: In<typeof controlInputSchema>): Promise<In<typeof controlResultSchema>>
  sessionStartTurn(input: In<typeof startTurnInputSchema>): Promise<In<typeof startTurnResultSchema>>
  sessionCallModel(input: In<typeof callModelInputSchema>): Promise<In<typeof callModelResultSchema>>
  sessionRunTool(input: In<typeof runToolInputSchema>): Promise<In<typeof runToolResultSchema>>
  sessionLandTool(input: In<typeof landToolInputSchema>): Promise<In<typeof runToolResultSchema>>
  sessionEndTurn(input: In<typeof endTurnInputSchema>): Promise<In<typeof readingResultSchema>>
  sessionClose(input: In<typeof closeSessionInputSchema>): Promise<void>
  sessionPrepareCompaction(input: CompactionActivityInput): Promise<In<typeof prepareResultSchema>>
  sessionSummarize(input: CompactionActivityInput): Promise<In<typeof summarizeResultSchema>>
  sessionCommitCompaction(input: In<typeof commitInputSchema>): Promise<CompactionOutcome>
  sessionRunHooks(input: In<typeof runHooksInputSchema>): Promise<In<typeof runHooksResultSchema>>
  sessionCloseAttempt(input: In<typeof closeAttemptInputSchema>): Promise<CompactionOutcome>
}
