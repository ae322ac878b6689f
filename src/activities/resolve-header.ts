import { type ModelFacts, resolvePolicy } from '../shared/compaction/policy.ts'
import type { ModelRef, ResolvedPolicy } from '../shared/compaction/policy-schema.ts'
import { PRESETS } from '../shared/compaction/presets.ts'
import { thinkingBudget } from '../shared/compaction/summary-request.ts'
import { isSessionError, SessionError } from '../shared/errors.ts'
import { ModelCallError } from '../shared/ports/model.ts'
import type { Header, ToolDefinition } from '../shared/session/events.ts'
import type { Settings } from '../shared/session/settings.ts'
import { sessionTools } from '../shared/session-tools.ts'
import type { ActivityDeps } from './deps.ts'
import { inputSchemaOf } from './tools/tool-problem.ts'

/**
 * Everything that a start asks for, decided and checked against what this worker has.
 *
 * @throws SessionError `InvalidInput`, `InvalidPolicy`, `UnknownModel`, `UnknownTool`
 */
export async function resolveHeader(deps: ActivityDeps, start: Settings): Promise<Header> {
  const model = start.model === null ? null : splitModel(start.model)
  const facts = model === null ? null : await factsOf(deps, model)
  const preset = presetOf(start.preset)
  const draft = resolvePolicy(start.policy ?? {}, facts, preset)
  const policy = await withSummarizer(deps, draft, (summarizers) =>
    resolvePolicy(start.policy ?? {}, facts, preset, summarizers),
  )
  const { sampling } = start
  requireRoomToThink(sampling, policy.replyMaxTokens)
  const tools = [...new Set(start.tools)].map((name) => definitionOf(deps, name))
  return {
    provider: model?.provider ?? null,
    model: model?.model ?? null,
    system: start.system,
    tools: [...tools, ...sessionTools(policy)],
    sampling,
    policy,
    asked: {
      tools: start.tools,
      ...(start.policy === undefined ? {} : { policy: start.policy }),
      ...(start.preset === undefined ? {} : { preset: start.preset }),
    },
  }
}

/** Reasoning is counted in `max_tokens`: a budget that fills them is refused with every turn, unless thinking between calls makes it one of the whole turn. */
function requireRoomToThink(sampling: Header['sampling'], replyMaxTokens: number): void {
  const budget = thinkingBudget(sampling)
  if (budget < replyMaxTokens || JSON.stringify(sampling['betas'] ?? '').includes('interleaved-thinking'))
    return
  throw new SessionError(
    'InvalidPolicy',
    `policy.replyMaxTokens must be above sampling.thinking.budget_tokens ${budget}, because the reasoning is part of the reply, got ${replyMaxTokens}: raise policy.replyMaxTokens or lower the budget.`,
  )
}

function splitModel(name: string): { provider: string; model: string } {
  const slash = name.indexOf('/')
  if (slash <= 0 || slash === name.length - 1) {
    throw new SessionError(
      'InvalidInput',
      `model must be "provider/model", got ${JSON.stringify(name)}, for example "anthropic/claude-opus-5-5".`,
    )
  }
  return { provider: name.slice(0, slash), model: name.slice(slash + 1) }
}

function requireProvider(deps: ActivityDeps, provider: string) {
  const client = deps.models[provider]
  if (client !== undefined) return client
  const known = Object.keys(deps.models)
  throw new SessionError(
    'UnknownModel',
    `No worker of this task queue has the provider ${JSON.stringify(provider)}; it has ${known.length === 0 ? 'none' : known.join(', ')}.`,
  )
}

export async function factsOf(deps: ActivityDeps, ref: ModelRef): Promise<ModelFacts> {
  const { contextWindow, maxOutputTokens } = await requireProvider(deps, ref.provider).capacity(ref.model)
  return { ...ref, contextWindow, maxOutputTokens }
}

/** The policy with the windows of its summarizers, which only their clients know. A summarizer of the worker's own needs no client. */
export async function withSummarizer(
  deps: ActivityDeps,
  draft: ResolvedPolicy,
  resolve: (facts: readonly ModelFacts[]) => ResolvedPolicy,
): Promise<ResolvedPolicy> {
  const { summarizer, summarizerFallbacks = [] } = draft
  if (summarizer === 'deterministic' || deps.summarizer !== undefined) return draft
  const facts = [
    factsOf(deps, summarizer),
    ...summarizerFallbacks.map((ref, at) => fallbackFacts(deps, ref, `policy.summarizerFallbacks[${at}]`)),
  ]
  return resolve(await Promise.all(facts))
}

/** A model that is there for when others fail must not keep a session from its start: one whose provider is away for now has a window that nobody knows yet. */
async function fallbackFacts(
  deps: ActivityDeps,
  { provider, model }: ModelRef,
  field: string,
): Promise<ModelFacts> {
  try {
    return await factsOf(deps, { provider, model })
  } catch (error) {
    if (isSessionError(error, 'UnknownModel'))
      throw new SessionError('UnknownModel', `${field}: ${error.message}`)
    if (!(error instanceof ModelCallError && error.failure.retryable)) throw error
    return { provider, model, contextWindow: null, maxOutputTokens: null }
  }
}

export function presetOf(name: string | undefined): keyof typeof PRESETS | undefined {
  if (name === undefined || Object.hasOwn(PRESETS, name)) return name as keyof typeof PRESETS | undefined
  throw new SessionError(
    'InvalidPolicy',
    `preset must be one of ${Object.keys(PRESETS).join(', ')}, got ${JSON.stringify(name)}.`,
  )
}

function definitionOf(deps: ActivityDeps, name: string): ToolDefinition {
  const tool = deps.tools.find((candidate) => candidate.name === name)
  if (tool === undefined) {
    throw new SessionError(
      'UnknownTool',
      `No worker of this task queue has the tool ${JSON.stringify(name)}; it has ${deps.tools.map((t) => t.name).join(', ') || 'none'}.`,
    )
  }
  return { name, description: tool.description, inputSchema: inputSchemaOf(tool) }
}
