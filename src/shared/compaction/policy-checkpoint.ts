import { checkpointBudget, PIN_LIMIT_TOKENS, pinLimit } from './checkpoint-budget.ts'
import type { PolicyInput, PolicySettings } from './policy-input.ts'
import { overrideFor } from './policy-layers.ts'
import { type PolicyProblem, policyProblem } from './policy-problems.ts'
import type { ModelRef } from './policy-schema.ts'
import type { ModelFacts, PolicySizes } from './policy-sizes.ts'

/**
 * A session without a model has no summarizer but code. What the policy says of a summarizer of its own wins over its client.
 *
 * @param facts what the clients say of the models that write summaries; of one that is not among them nothing is known
 */
export function summarySettings(
  settings: PolicySettings,
  input: PolicyInput,
  model: ModelFacts | null,
  sizes: PolicySizes,
  facts: readonly ModelFacts[],
) {
  const summarizer = model === null ? 'deterministic' : (settings.summarizer ?? refOf(model))
  const limitsOf = (ref: ModelRef) => {
    if (isSame(ref, model)) return sizes
    const listed = overrideFor(input, ref)
    const said = facts.find((each) => isSame(each, ref))
    return {
      contextWindow: listed?.contextWindow ?? said?.contextWindow ?? null,
      maxOutputTokens: listed?.maxOutputTokens ?? said?.maxOutputTokens ?? null,
    }
  }
  const limits = summarizer === 'deterministic' ? null : limitsOf(summarizer)
  const outputLimit = limits?.maxOutputTokens ?? null
  const summaryMaxTokens = settings.summaryMaxTokens ?? Math.min(8192, outputLimit ?? 8192)
  const problems = fallbackProblems(settings, summarizer)
  if (outputLimit !== null && summaryMaxTokens > outputLimit)
    problems.push(
      policyProblem(
        'policy.summaryMaxTokens',
        `must be at most the summarizer's limit of ${outputLimit} tokens`,
        summaryMaxTokens,
      ),
    )
  const fallbacks = summarizer === 'deterministic' ? [] : (settings.summarizerFallbacks ?? [])
  const resolved = {
    summarizer: summarizer satisfies ModelRef | 'deterministic',
    summarizerWindow: limits?.contextWindow ?? null,
    summarizerFallbacks: fallbacks.map((ref) => ({ ...ref, window: limitsOf(ref).contextWindow })),
    summaryFallback: settings.summaryFallback ?? 'overflow',
    summaryMaxTokens,
  } as const
  return { resolved, problems }
}

const refOf = ({ provider, model }: ModelRef): ModelRef => ({ provider, model })

const isSame = (one: ModelRef, other: ModelRef | null): boolean =>
  one.provider === other?.provider && one.model === other.model

/** What is no fallback: beside code, which cannot fail, any model; else the model that has failed. */
function fallbackProblems(
  { summarizer: asked, summarizerFallbacks = [] }: PolicySettings,
  summarizer: ModelRef | 'deterministic',
): PolicyProblem[] {
  if (asked === 'deterministic' && summarizerFallbacks.length > 0)
    return [
      policyProblem(
        'policy.summarizerFallbacks',
        'must be empty beside summarizer "deterministic"',
        summarizerFallbacks,
      ),
    ]
  return summarizerFallbacks.flatMap((ref, at) =>
    summarizer !== 'deterministic' && isSame(ref, summarizer)
      ? [
          policyProblem(
            `policy.summarizerFallbacks[${at}]`,
            'must not name the model that writes the summaries',
            `${ref.provider}/${ref.model}`,
          ),
        ]
      : [],
  )
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
