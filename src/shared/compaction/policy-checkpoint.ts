import { checkpointBudget, PIN_LIMIT_TOKENS, pinLimit } from './checkpoint-budget.ts'
import type { PolicyInput, PolicySettings } from './policy-input.ts'
import { overrideFor } from './policy-layers.ts'
import { type PolicyProblem, policyProblem } from './policy-problems.ts'
import type { ModelRef } from './policy-schema.ts'
import type { ModelFacts, PolicySizes } from './policy-sizes.ts'

/** What the client of a summarizer's model says of it. */
export type SummarizerFacts = Pick<ModelFacts, 'contextWindow' | 'maxOutputTokens'>

/** A session without a model has no summarizer but code. What the policy says of a summarizer of its own wins over its client. */
export function summarySettings(
  settings: PolicySettings,
  input: PolicyInput,
  model: ModelFacts | null,
  sizes: PolicySizes,
  summarizerFacts: SummarizerFacts | null,
) {
  const summarizer =
    model === null
      ? 'deterministic'
      : (settings.summarizer ?? { provider: model.provider, model: model.model })
  const isOwn =
    summarizer !== 'deterministic' &&
    summarizer.provider === model?.provider &&
    summarizer.model === model.model
  const listed = summarizer === 'deterministic' ? undefined : overrideFor(input, summarizer)
  const facts = summarizer === 'deterministic' ? null : summarizerFacts
  const window = isOwn ? sizes.contextWindow : (listed?.contextWindow ?? facts?.contextWindow ?? null)
  const outputLimit = isOwn
    ? sizes.maxOutputTokens
    : (listed?.maxOutputTokens ?? facts?.maxOutputTokens ?? null)
  const summaryMaxTokens = settings.summaryMaxTokens ?? Math.min(8192, outputLimit ?? 8192)
  const problems =
    outputLimit !== null && summaryMaxTokens > outputLimit
      ? [
          policyProblem(
            'policy.summaryMaxTokens',
            `must be at most the summarizer's limit of ${outputLimit} tokens`,
            summaryMaxTokens,
          ),
        ]
      : []
  const resolved = {
    summarizer: summarizer satisfies ModelRef | 'deterministic',
    summarizerWindow: window,
    summaryFallback: settings.summaryFallback ?? 'overflow',
    summaryMaxTokens,
  } as const
  return { resolved, problems }
}

/** At most a quarter of the threshold for the whole checkpoint, so that the next compaction is far away. */
export function checkpointSizes(
  settings: PolicySettings,
  { limitTokens }: PolicySizes,
  summaryMaxTokens: number,
) {
  const { checkpointTokens = 5_000, userTextTokens = 8_000 } = settings
  const whole = checkpointTokens + userTextTokens + PIN_LIMIT_TOKENS
  const checkpointLimitTokens =
    limitTokens === null ? whole : Math.max(1, Math.min(whole, Math.floor(limitTokens / 4)))
  const budget = checkpointBudget(
    { checkpointTokens, userTextTokens, checkpointLimitTokens, summaryMaxTokens },
    0,
  )
  return {
    checkpointTokens: Math.max(1, Math.min(checkpointTokens, checkpointLimitTokens - budget.userTextTokens)),
    userTextTokens: budget.userTextTokens,
    checkpointLimitTokens,
  }
}

/** Pins of the policy stand in every checkpoint, so they must leave half of it to the conversation. */
export function pinProblems({ pins }: PolicySettings, checkpointLimitTokens: number): PolicyProblem[] {
  const tokens = Math.ceil((pins?.texts ?? []).reduce((sum, pin) => sum + roughTokens(pin), 0))
  const most = pinLimit({ checkpointLimitTokens })
  return tokens > most
    ? [policyProblem('policy.pins.texts', `must have at most ${most} tokens together`, tokens)]
    : []
}

/** Within a third of the true number for most texts; exact counts need the tokenizer, which pure code does not load. */
const roughTokens = (value: string): number => {
  let tokens = 0
  for (const character of value) tokens += character < '\u0080' ? 0.3 : 1
  return tokens
}
