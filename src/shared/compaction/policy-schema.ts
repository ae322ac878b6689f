import { z } from 'zod'

export const modelRefSchema = z.strictObject({ provider: z.string().min(1), model: z.string().min(1) })
export type ModelRef = z.infer<typeof modelRefSchema>

/** A model that may write a summary. `window` in its provider's tokens; null when nobody said it. */
const summaryModelSchema = z.strictObject({
  ...modelRefSchema.shape,
  window: z.int().positive().nullable(),
})
export type SummaryModel = z.infer<typeof summaryModelSchema>

/** What the log's header keeps: every setting decided, no default left to a later release. Tokens unless the name says otherwise. */
export const resolvedPolicySchema = z.strictObject({
  auto: z.boolean(),
  /** Window of the session's model; null when nobody knows it. */
  contextWindow: z.int().positive().nullable(),
  /** `max_tokens` of a turn's request. */
  replyMaxTokens: z.int().positive(),
  /** Pressure when context + pending input reaches this; null turns pressure off (window unknown and no `thresholdTokens`, or `auto` false). */
  pressureTokens: z.int().positive().nullable(),
  /** Tail kept at pressure, in the provider's tokens. 0 keeps only what the model has not yet seen. */
  retainTokens: z.int().nonnegative(),
  /** Intake limit of one tool result. */
  toolResultMaxTokens: z.int().positive(),
  summarizer: z.union([modelRefSchema, z.literal('deterministic')]),
  /** Window of the summarizer's model; null when nobody said it. */
  summarizerWindow: z.int().positive().nullable(),
  /** Asked in this order when the summarizer has failed. Absent in logs that are older than the setting: none. */
  summarizerFallbacks: z.array(summaryModelSchema).optional(),
  summaryFallback: z.enum(['overflow', 'always', 'never']),
  summaryMaxTokens: z.int().positive(),
  compactionRetries: z.int().nonnegative(),
  maxOverflowRetries: z.int().nonnegative(),
  /** Code points, and the tools whose results are never cut. */
  prune: z
    .strictObject({
      thresholdChars: z.int().positive(),
      headChars: z.int().nonnegative(),
      tailChars: z.int().nonnegative(),
      preserve: z.array(z.string()),
    })
    .nullable(),
  micro: z
    .strictObject({
      keepLast: z.int().nonnegative(),
      preserve: z.array(z.string()),
      minReclaimTokens: z.int().nonnegative(),
    })
    .nullable(),
  compactTool: z.boolean(),
  historyTool: z.boolean(),
  /** Summary, plan, open errors and lists of a checkpoint. `checkpointBudget` splits it and lets it give way to pins. */
  checkpointTokens: z.int().positive(),
  /** The user's own words in a checkpoint. */
  userTextTokens: z.int().nonnegative(),
  /** The whole checkpoint, pins included: at most a quarter of the threshold. */
  checkpointLimitTokens: z.int().positive(),
  pins: z.strictObject({ texts: z.array(z.string()), tools: z.array(z.string()) }),
  minGainRatio: z.number().min(0).max(1),
  breaker: z.strictObject({
    maxIneffectivePasses: z.int().positive(),
    skipSteps: z.array(z.int().nonnegative()),
    holdMs: z.int().positive(),
  }),
  /** What compactions of a session may cost before only a person's are paid for; absent: no limit. */
  compactionBudget: z
    .strictObject({ count: z.int().positive().optional(), tokens: z.int().positive().optional() })
    .optional(),
  /** Folder of the JSONL archive, or null. */
  archive: z.string().nullable(),
  /** First line of a checkpoint; empty means the standard frame alone. */
  framePrefix: z.string(),
  /** Idle time after which the workflow completes; null never. */
  idleTimeoutMs: z.int().positive().nullable(),
})
export type ResolvedPolicy = z.infer<typeof resolvedPolicySchema>

/** Every model that may write a summary, in the order in which they are asked; none when code writes it. */
export function summaryModels({
  summarizer,
  summarizerWindow,
  summarizerFallbacks = [],
}: Pick<ResolvedPolicy, 'summarizer' | 'summarizerWindow' | 'summarizerFallbacks'>): readonly SummaryModel[] {
  if (summarizer === 'deterministic') return []
  return [{ ...summarizer, window: summarizerWindow }, ...summarizerFallbacks]
}
