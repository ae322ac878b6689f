import type { SessionStart } from '../protocol.ts'
import { canonicalJson } from './canonical-json.ts'
import type { Header } from './events.ts'

/** What a header is made of. */
export interface Settings extends SessionStart {
  system: string
  tools: string[]
  sampling: Record<string, unknown>
}
type Given = { readonly [K in keyof SessionStart]?: SessionStart[K] | undefined }

/** What a session was asked to have, so that one setting can change and all that follows from it is decided anew. */
export function settingsOf({ provider, model, system, tools, sampling, asked }: Header): Settings {
  return {
    ...(asked ?? { tools: tools.map(({ name }) => name) }),
    model: model === null ? null : `${provider}/${model}`,
    system,
    sampling,
  }
}

const providerOf = (model: string | null | undefined) => model?.split('/', 1)[0]

/** What is given takes the place of what was; a policy of the whole one. Of a new session, what is not given is empty; so is the sampling of another provider's model. */
export function changedSettings(was: Settings | null, given: Given): Settings {
  const { model, system, tools, sampling, policy = was?.policy, preset = was?.preset } = given
  const isOfProvider = model === undefined || providerOf(model) === providerOf(was?.model)
  return {
    model: model === undefined ? (was?.model ?? null) : model,
    system: system ?? was?.system ?? '',
    tools: tools ?? was?.tools ?? [],
    sampling: sampling ?? (isOfProvider ? was?.sampling : undefined) ?? {},
    ...(policy === undefined ? {} : { policy }),
    ...(preset === undefined ? {} : { preset }),
  }
}

/** Names of what is not the same. */
export function differingSettings(one: Settings, other: Settings): string[] {
  const names = Object.keys({ ...one, ...other }) as (keyof Settings)[]
  return names.filter((name) => canonicalJson(one[name] ?? null) !== canonicalJson(other[name] ?? null))
}
