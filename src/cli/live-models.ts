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

/** Of a session for which none is named: the one that this environment can pay for. */
export const defaultModel = (env: NodeJS.ProcessEnv = process.env): string =>
  hasAnthropic(env) ? 'anthropic/claude-sonnet-5-5' : 'scripted/echo'
