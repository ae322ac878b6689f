import { z } from 'zod'
import { modelRefSchema } from './policy-schema.ts'

const tokens = z.int().positive()
const chars = z.int().nonnegative()
const name = z.string().min(1)
const names = z.array(name).refine(isDistinct, { error: 'must not name anything twice' })
const ratio = z.number().gt(0).lte(1)

/** The settings of a policy, all optional. Token counts are the provider's; a setting that is left out keeps its default. */
const settings = {
  /** False: only manual compaction; no micro pass, no pruning, no overflow recovery, no `compact` tool, whatever their own settings say. Default true. */
  auto: z.boolean().optional(),
  /** Pressure at this share of the window. Default 0.8. Not together with `thresholdTokens`. */
  thresholdRatio: ratio.optional(),
  /** Pressure at this many tokens. Both forms are capped by the window minus the reply minus 2,048. */
  thresholdTokens: tokens.optional(),
  /** Share of the window that stays verbatim at pressure. Default 0.16, at most 40,000 tokens. Not together with `retainTokens`. */
  retainRatio: z.number().gte(0).lt(1).optional(),
  /** Tokens that stay verbatim at pressure; 0 keeps only what the model has not yet seen. */
  retainTokens: z.int().nonnegative().optional(),
  /** A tool result above this is cut when it arrives; the whole stays in the log. Default min(25,000, 15 % of the window). */
  toolResultMaxTokens: tokens.optional(),
  /** Who writes the summary: a model, or code alone. Default, and with null: the session's model. */
  summarizer: z
    .union([modelRefSchema, z.literal('deterministic'), z.null()], {
      error: 'must be {provider, model} with both set, "deterministic", or null for the session\'s own model',
    })
    .optional(),
  /**
   * Models that are asked in this order when the summarizer has failed; at most 4, none twice, none that is the summarizer. Default none. Not together with
   * a `summarizer` of `'deterministic'`, and not for a summarizer of the worker's own.
   */
  summarizerFallbacks: z
    .array(modelRefSchema)
    .max(4)
    .refine((models) => isDistinct(models.map(({ provider, model }) => `${provider}/${model}`)), {
      error: 'must not name anything twice',
    })
    .optional(),
  /** When a failed summary is replaced by the checkpoint that code writes. Default `overflow`: only when the next request needs it. */
  summaryFallback: z.enum(['overflow', 'always', 'never']).optional(),
  /** `max_tokens` of a summary, on top of a thinking budget. Default 8,192, at most the model's limit. */
  summaryMaxTokens: tokens.optional(),
  /** Further attempts in the same step when an effective one is still above the threshold. Default 1. */
  compactionRetries: z.int().nonnegative().lte(10).optional(),
  /** Compactions per step after the provider refused the request as too long; 0 disables recovery. Default 1. */
  maxOverflowRetries: z.int().nonnegative().lte(10).optional(),
  /** Cutting of large results under pressure, in code points. Default 8192 / 4096 / 1024; false turns it off. */
  prune: z
    .union([
      z.strictObject({
        thresholdChars: z.int().positive().optional(),
        headChars: chars.optional(),
        tailChars: chars.optional(),
        /** Tools whose results are never cut. Default: those of `micro.preserve`. */
        preserve: names.optional(),
      }),
      z.literal(false),
    ])
    .optional(),
  /** Clearing of old results before each request. Default keepLast 3, preserve `read_file`, minReclaimTokens 20,000; false turns it off. */
  micro: z
    .union([
      z.strictObject({
        keepLast: z.int().nonnegative().optional(),
        preserve: names.optional(),
        minReclaimTokens: z.int().nonnegative().optional(),
      }),
      z.literal(false),
    ])
    .optional(),
  /** Offers the `compact` tool to the model. Default true. */
  compactTool: z.boolean().optional(),
  /** Offers the `history` tool, by which the model reads back what left its context. Default true, with `auto` false only when it is set. */
  historyTool: z.boolean().optional(),
  /** Summary, plan, open errors and lists of a checkpoint. Default 5,000; less when a quarter of the threshold is less. */
  checkpointTokens: tokens.optional(),
  /** The user's own words in a checkpoint. Default 8,000; gives way first. */
  userTextTokens: z.int().nonnegative().optional(),
  /** `max_tokens` of a turn's request. Default min(the model's limit, 16,384, a quarter of the window). */
  replyMaxTokens: tokens.optional(),
  /** What stays verbatim in every checkpoint. */
  pins: z.strictObject({ texts: names.optional(), tools: names.optional() }).optional(),
  /** A compaction that saves a smaller share of the tokens before it counts as ineffective. Default 0.1. */
  minGainRatio: z.number().gte(0).lt(1).optional(),
  /** When automatic compaction pauses. Default 3 ineffective passes, skip 2 then 4 steps between them, hold for an hour. */
  breaker: z
    .strictObject({
      maxIneffectivePasses: z.int().positive().lte(100).optional(),
      skipSteps: z.array(z.int().nonnegative()).optional(),
      holdMs: z.int().positive().optional(),
    })
    .optional(),
  /**
   * What the compactions of a session may cost: how many that pay for a model call, and how many tokens of these calls. When one of the two is reached, only a person's
   * are paid for. False, the default, sets no limit: a session may live for months, and the breaker stops what does not help.
   */
  compactionBudget: z
    .union([
      z
        .strictObject({ count: tokens.optional(), tokens: tokens.optional() })
        .refine(({ count, tokens: most }) => count !== undefined || most !== undefined, {
          error: 'must have count, tokens, or both',
        }),
      z.literal(false),
    ])
    .optional(),
  /** Folder for a JSONL copy of every compacted surface; false, the default, writes none. */
  archive: z.union([name, z.literal(false)]).optional(),
  /** First line of a checkpoint, before the standard frame. Default none. */
  framePrefix: z.string().max(200).optional(),
  /** Idle time after which the session's workflow completes: milliseconds, `'90s'`, `'30m'`, `'24h'`, `'7d'`, or `'never'`. Default `'24h'`. */
  idleTimeout: z.union([z.int().positive(), z.string()]).optional(),
}

const settingsSchema = z.strictObject(settings)

/** Settings for one exact provider and model, merged over the policy's own, field by field. */
const modelOverrideSchema = z.strictObject({
  provider: name,
  model: name,
  /** Tokens; wins over what the provider says. */
  contextWindow: tokens.optional(),
  /** Tokens of the longest reply; wins over what the provider says. */
  maxOutputTokens: tokens.optional(),
  ...settings,
})

export const policyInputSchema = z.strictObject({
  ...settings,
  models: z.array(modelOverrideSchema).optional(),
})

/** What a user writes. Everything is optional: `{}` is the default policy. */
export type PolicyInput = z.input<typeof policyInputSchema>
export type PolicySettings = z.input<typeof settingsSchema>
export type ModelOverride = z.input<typeof modelOverrideSchema>

export const SETTING_NAMES = Object.keys(settings)

function isDistinct(values: readonly string[]): boolean {
  return new Set(values).size === values.length
}
