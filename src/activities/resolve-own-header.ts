import type { ModelFacts } from '../shared/compaction/policy.ts'
import { resolvePolicy } from '../shared/compaction/policy.ts'
import { isSessionError, SessionError } from '../shared/errors.ts'
import type { OwnRequest } from '../shared/own-protocol.ts'
import type { Header, ToolDefinition } from '../shared/session/events.ts'
import type { ActivityDeps } from './deps.ts'
import { factsOf, presetOf, withSummarizer } from './resolve-header.ts'

interface OwnStart {
  readonly header: OwnRequest
  readonly policy?: Readonly<Record<string, unknown>> | undefined
  readonly preset?: string | undefined
}

/**
 * The header of a session whose requests its own workflow makes: system and tools as they are sent. The worker must have the model only where it has to
 * write summaries with it; a window that no client says stands in the policy's `models`.
 *
 * @throws SessionError `InvalidPolicy`, `UnknownModel` when no worker can write the summaries
 */
export async function resolveOwnHeader(
  deps: ActivityDeps,
  { header, policy, preset }: OwnStart,
): Promise<Header> {
  const { provider, model, system, maxTokens, sampling } = header
  const facts = provider === null || model === null ? null : await knownFacts(deps, { provider, model })
  // The compact tool is answered by our own workflow alone: here `compactNow` does what it does.
  const raw = {
    ...(maxTokens === undefined ? {} : { replyMaxTokens: maxTokens }),
    ...policy,
    compactTool: false,
  }
  const name = presetOf(preset)
  const draft = resolvePolicy(raw, facts, name)
  try {
    const resolved = await withSummarizer(deps, draft, (summarizers) =>
      resolvePolicy(raw, facts, name, summarizers),
    )
    return {
      provider,
      model,
      system,
      tools: header.tools.map(definitionOf),
      sampling: sampling ?? {},
      policy: resolved,
    }
  } catch (error) {
    if (!isSessionError(error, 'UnknownModel')) throw error
    throw new SessionError(
      'UnknownModel',
      `${error.message} Summaries need it: give the worker that model client, or a summarizer, or set policy.summarizer to a model that it has or to "deterministic".`,
    )
  }
}

async function knownFacts(
  deps: ActivityDeps,
  ref: { readonly provider: string; readonly model: string },
): Promise<ModelFacts> {
  const isKnown = Object.hasOwn(deps.models, ref.provider)
  return isKnown ? factsOf(deps, ref) : { ...ref, contextWindow: null, maxOutputTokens: null }
}

function definitionOf(tool: OwnRequest['tools'][number]): ToolDefinition {
  if ('inputSchema' in tool) return tool
  return { name: tool.name, description: tool.description ?? '', inputSchema: tool.input_schema }
}
