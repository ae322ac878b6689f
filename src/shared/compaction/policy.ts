import { parseDurationMs } from '../duration.ts'
import { SessionError } from '../errors.ts'
import { nearName } from '../near-name.ts'
import { checkpointSizes, pinProblems, summarySettings } from './policy-checkpoint.ts'
import {
  type ModelOverride,
  type PolicyInput,
  type PolicySettings,
  policyInputSchema,
  SETTING_NAMES,
} from './policy-input.ts'
import { layerProblems, layerSettings, overrideFor } from './policy-layers.ts'
import { type PolicyProblem, policyProblem, schemaProblems } from './policy-problems.ts'
import type { ResolvedPolicy } from './policy-schema.ts'
import { type ModelFacts, type PolicySizes, resolveSizes, sizeProblems } from './policy-sizes.ts'
import { PRESETS, type PresetName } from './presets.ts'

export type { ModelFacts } from './policy-sizes.ts'

/**
 * Decides every setting of a policy for the session's model: the preset, over it the policy, over it the override for exactly this
 * provider and model. Of two forms of one setting the upper layer's wins. The result is complete and deeply frozen.
 *
 * @param raw what the user wrote ({@link PolicyInput}); undefined or null is the empty policy
 * @param model null for a session without a model: its summaries are deterministic
 * @param summarizers of the models of the resolved `summarizer` and `summarizerFallbacks`: resolve once, ask their clients, resolve again
 * @throws SessionError `InvalidPolicy`: one sentence per problem, each with field, limit and value; `details.problems` has the parts
 */
export function resolvePolicy(
  raw: unknown,
  model: ModelFacts | null,
  preset: PresetName = 'default',
  summarizers: readonly ModelFacts[] = [],
): ResolvedPolicy {
  const input = parsePolicy(raw ?? {})
  const override = overrideFor(input, model)
  const { models: _, ...own } = input
  const settings = layerSettings([
    presetSettings(preset),
    own,
    override === undefined ? {} : settingsOf(override),
  ])
  const sizes = resolveSizes(settings, model, override)
  const problems = [...sizeProblems(settings, sizes), ...pruneProblems(settings), ...idleProblems(settings)]
  const summary = summarySettings(settings, input, model, sizes, summarizers)
  const checkpoint = checkpointSizes(settings, sizes, summary.resolved.summaryMaxTokens)
  problems.push(...summary.problems, ...pinProblems(settings, checkpoint.checkpointLimitTokens))
  if (problems.length > 0) throw invalidPolicy(problems)
  return frozen({
    ...automatic(settings, sizes),
    ...summary.resolved,
    ...checkpoint,
    contextWindow: sizes.contextWindow,
    replyMaxTokens: sizes.replyMaxTokens,
    retainTokens: sizes.retainTokens,
    toolResultMaxTokens: sizes.toolResultMaxTokens,
    compactionRetries: settings.compactionRetries ?? 1,
    pins: { texts: [...(settings.pins?.texts ?? [])], tools: [...(settings.pins?.tools ?? [])] },
    minGainRatio: settings.minGainRatio ?? 0.1,
    breaker: {
      maxIneffectivePasses: settings.breaker?.maxIneffectivePasses ?? 3,
      skipSteps: [...(settings.breaker?.skipSteps ?? [2, 4])],
      holdMs: settings.breaker?.holdMs ?? 3_600_000,
    },
    ...(settings.compactionBudget ? { compactionBudget: { ...settings.compactionBudget } } : {}),
    archive: settings.archive === undefined || settings.archive === false ? null : settings.archive,
    framePrefix: settings.framePrefix ?? '',
    idleTimeoutMs: idleTimeoutMs(settings.idleTimeout ?? '24h') ?? null,
  })
}

function parsePolicy(raw: unknown): PolicyInput {
  const parsed = policyInputSchema.safeParse(raw)
  const problems = parsed.success
    ? layerProblems(parsed.data)
    : schemaProblems(parsed.error.issues, raw, settingNames)
  if (!parsed.success || problems.length > 0) throw invalidPolicy(problems)
  return parsed.data
}

const GROUP_NAMES: Readonly<Record<string, readonly string[]>> = {
  prune: ['thresholdChars', 'headChars', 'tailChars', 'preserve'],
  micro: ['keepLast', 'preserve', 'minReclaimTokens'],
  pins: ['texts', 'tools'],
  breaker: ['maxIneffectivePasses', 'skipSteps', 'holdMs'],
  compactionBudget: ['count', 'tokens'],
  summarizer: ['provider', 'model'],
  summarizerFallbacks: ['provider', 'model'],
}

function settingNames(path: readonly PropertyKey[]): readonly string[] {
  const last = path.findLast((part) => typeof part === 'string') ?? ''
  if (path.length === 0) return [...SETTING_NAMES, 'models']
  return GROUP_NAMES[last] ?? ['provider', 'model', 'contextWindow', 'maxOutputTokens', ...SETTING_NAMES]
}

function presetSettings(preset: string): PolicySettings {
  if (Object.hasOwn(PRESETS, preset)) return PRESETS[preset as PresetName]
  const names = Object.keys(PRESETS)
  const near = nearName(preset, names)
  throw invalidPolicy([
    policyProblem(
      'preset',
      `must be ${names.join(', ')}${near === undefined ? '' : ` (did you mean ${near}?)`}`,
      preset,
    ),
  ])
}

const settingsOf = ({
  provider: _p,
  model: _m,
  contextWindow: _w,
  maxOutputTokens: _o,
  ...settings
}: ModelOverride): PolicySettings => settings

const DEFAULT_PRESERVE = ['read_file']

const union = (some: readonly string[], others: readonly string[]): string[] => [
  ...new Set([...some, ...others]),
]

/** What `auto: false` turns off, and how it is set otherwise. Reading back changes nothing, so a person may have it all the same. */
function automatic(settings: PolicySettings, sizes: PolicySizes) {
  const auto = settings.auto ?? true
  const micro = settings.micro === false ? {} : (settings.micro ?? {})
  const prune = settings.prune === false ? {} : (settings.prune ?? {})
  const preserve = micro.preserve ?? DEFAULT_PRESERVE
  // A checkpoint keeps their results word for word: until then they must be whole.
  const pinned = settings.pins?.tools ?? []
  return {
    auto,
    pressureTokens: auto ? sizes.limitTokens : null,
    maxOverflowRetries: auto ? (settings.maxOverflowRetries ?? 1) : 0,
    compactTool: auto && (settings.compactTool ?? true),
    historyTool: settings.historyTool ?? auto,
    prune:
      auto && settings.prune !== false
        ? { ...pruneSizes(settings), preserve: union(prune.preserve ?? preserve, pinned) }
        : null,
    micro:
      auto && settings.micro !== false
        ? {
            keepLast: micro.keepLast ?? 3,
            preserve: union(preserve, pinned),
            minReclaimTokens: micro.minReclaimTokens ?? 20_000,
          }
        : null,
  }
}

function pruneSizes(settings: PolicySettings) {
  const {
    thresholdChars = 8192,
    headChars = 4096,
    tailChars = 1024,
  } = settings.prune === false ? {} : (settings.prune ?? {})
  return { thresholdChars, headChars, tailChars }
}

function pruneProblems(settings: PolicySettings): PolicyProblem[] {
  const { thresholdChars, headChars, tailChars } = pruneSizes(settings)
  if (headChars + tailChars < thresholdChars) return []
  return [
    policyProblem(
      'policy.prune',
      `must keep less than thresholdChars ${thresholdChars} in headChars + tailChars`,
      headChars + tailChars,
    ),
  ]
}

/** Undefined for `never` and for what is no duration. */
function idleTimeoutMs(value: number | string): number | undefined {
  return typeof value === 'number' ? value : parseDurationMs(value)
}

function idleProblems({ idleTimeout }: PolicySettings): PolicyProblem[] {
  if (idleTimeout === undefined || idleTimeout === 'never' || (idleTimeoutMs(idleTimeout) ?? 0) > 0) return []
  return [
    policyProblem(
      'policy.idleTimeout',
      "must be milliseconds above 0, a text such as '90s', '30m', '24h' or '7d', or 'never'",
      idleTimeout,
    ),
  ]
}

function invalidPolicy(problems: readonly PolicyProblem[]): SessionError {
  const details = problems.map(({ field, limit, value }) => ({ field, limit, value }))
  const sentences = problems.map(({ message }) => (message.endsWith('?') ? message : `${message}.`))
  return new SessionError('InvalidPolicy', sentences.join(' '), { problems: details })
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) frozen(part)
  return Object.freeze(value)
}
