import type { ModelOverride, PolicyInput, PolicySettings } from './policy-input.ts'
import { type PolicyProblem, policyProblem } from './policy-problems.ts'

/** Two forms of one setting: the one that is given takes the place of the other. */
const SIBLINGS = [
  ['thresholdRatio', 'thresholdTokens'],
  ['retainRatio', 'retainTokens'],
] as const

/** Settings whose fields are merged one by one; every other setting is replaced whole. */
const GROUPS = ['prune', 'micro', 'pins', 'breaker', 'compactionBudget'] as const

/** Lays settings over one another, the last on top. */
export function layerSettings(layers: readonly PolicySettings[]): PolicySettings {
  return layers.reduce(layOver, {})
}

function layOver(below: PolicySettings, above: PolicySettings): PolicySettings {
  const given = Object.fromEntries(
    Object.entries(above).filter(([, value]) => value !== undefined),
  ) as PolicySettings
  const merged: PolicySettings = { ...below, ...given }
  for (const [one, other] of SIBLINGS) {
    if (given[one] !== undefined) delete merged[other]
    if (given[other] !== undefined) delete merged[one]
  }
  for (const group of GROUPS) {
    const [low, high] = [below[group], given[group]]
    if (isGroup(low) && isGroup(high)) Object.assign(merged, { [group]: { ...low, ...high } })
  }
  return merged
}

const isGroup = (value: unknown): value is object => typeof value === 'object' && value !== null

/** The override for this exact provider and model. */
export function overrideFor(
  input: PolicyInput,
  model: { readonly provider: string; readonly model: string } | null,
): ModelOverride | undefined {
  return input.models?.find((entry) => entry.provider === model?.provider && entry.model === model.model)
}

/** What one layer says twice: both forms of a setting, two overrides for one model. */
export function layerProblems(input: PolicyInput): PolicyProblem[] {
  const models = input.models ?? []
  const twice = models.flatMap((entry, at) => {
    const first = models.findIndex(
      (other) => other.provider === entry.provider && other.model === entry.model,
    )
    if (first === at) return []
    return [
      policyProblem(
        `policy.models[${at}]`,
        `must not name the model of policy.models[${first}] again`,
        `${entry.provider}/${entry.model}`,
      ),
    ]
  })
  return [
    ...bothForms(input, 'policy'),
    ...models.flatMap((entry, at) => bothForms(entry, `policy.models[${at}]`)),
    ...twice,
  ]
}

function bothForms(settings: PolicySettings, prefix: string): PolicyProblem[] {
  return SIBLINGS.flatMap(([one, other]) => {
    if (settings[one] === undefined || settings[other] === undefined) return []
    return [
      policyProblem(
        `${prefix}.${other}`,
        `must not stand beside ${one} ${settings[one]}: give one of the two`,
        settings[other],
      ),
    ]
  })
}
