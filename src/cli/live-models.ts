import type { ModelClient } from '../shared/ports/model.ts'
import { anthropicModels } from '../worker/index.ts'

// Models of providers whose key is in the environment. Nothing in the working folder is read for one.

const hasAnthropic = (env: NodeJS.ProcessEnv): boolean =>
  Boolean(env['ANTHROPIC_API_KEY'] || env['ANTHROPIC_AUTH_TOKEN'])

/** What a session can name, for people. */
export const liveModelNames = (env: NodeJS.ProcessEnv): string[] =>
  hasAnthropic(env)
    ? ['anthropic/<model>, for example anthropic/claude-sonnet-5-5 (paid, by the key in the environment)']
    : []

/** By provider. Each SDK is loaded only when it is needed. */
export async function liveModels(env: NodeJS.ProcessEnv = process.env): Promise<Record<string, ModelClient>> {
  if (!hasAnthropic(env)) return {}
  const { Anthropic } = await import('@anthropic-ai/sdk')
  return { anthropic: anthropicModels(new Anthropic()) }
}

export interface DefaultModel {
  readonly model: string
  /** Why it is this one, for people. */
  readonly why: string
}

/** Of a session for which none is named: the one of the `dev` that runs, which may have another environment, else the one that this environment can pay for. */
export function defaultModel(devModel?: string, env: NodeJS.ProcessEnv = process.env): DefaultModel {
  if (devModel !== undefined)
    return {
      model: devModel,
      why: `the default of the dev that runs${devModel === ECHO ? ', which has no ANTHROPIC_API_KEY' : ''}`,
    }
  return hasAnthropic(env)
    ? { model: 'anthropic/claude-sonnet-5-5', why: 'the default with ANTHROPIC_API_KEY' }
    : { model: ECHO, why: 'which repeats what it is told: the default without ANTHROPIC_API_KEY' }
}

/** Repeats what it is told. */
const ECHO = 'scripted/echo'
