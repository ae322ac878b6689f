import type { z } from 'zod'
import type { openInputSchema, openResultSchema } from '../shared/activity-protocol.ts'
import { resolvePolicy } from '../shared/compaction/policy.ts'
import { PRESETS } from '../shared/compaction/presets.ts'
import { SessionError } from '../shared/errors.ts'
import type { SessionRow } from '../shared/ports/store.ts'
import type { SessionStart } from '../shared/protocol.ts'
import { canonicalJson } from '../shared/session/canonical-json.ts'
import type { Header, ToolDefinition } from '../shared/session/events.ts'
import { hash53, keys } from '../shared/session/keys.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner, callingRun, currentRun, takeOver, unknownSession } from './owner.ts'
import { currentReading, loadSession } from './session-view.ts'
import { COMPACT_TOOL } from './tools/compact-tool.ts'
import { inputSchemaOf } from './tools/tool-problem.ts'

/**
 * First activity of every run: creates the session or makes this run its owner, refuses what the worker cannot serve, and says what waits.
 *
 * @throws SessionError `SessionNotFound` (woken without a start), `SessionClosed`, `InvalidPolicy`, `InvalidInput`, `UnknownModel`, `UnknownTool`, `SessionOwned`, `Fenced`
 */
export async function openSession(
  deps: ActivityDeps,
  input: z.infer<typeof openInputSchema>,
): Promise<z.infer<typeof openResultSchema>> {
  const { sessionId, start } = input
  const known = await deps.store.session(sessionId)
  const session = known === null ? await create(deps, sessionId, start) : await reopen(deps, known, start)
  const [reading, waiting, openTurn] = await Promise.all([
    currentReading(deps, sessionId),
    deps.store.inbox(sessionId, { kind: 'prompt', state: 'waiting' }),
    openTurnOf(deps, session),
  ])
  return {
    life: session.life,
    reading,
    idleTimeoutMs: session.header.policy.idleTimeoutMs,
    openTurn,
    waiting: waiting
      .filter((row) => row.delivery !== 'no-wake')
      .map((row) => ({ requestId: row.requestId, delivery: row.delivery ?? 'next-turn' })),
  }
}

async function create(
  deps: ActivityDeps,
  sessionId: string,
  start: SessionStart | undefined,
): Promise<SessionRow> {
  if (start === undefined) throw unknownSession(sessionId)
  const actor = callingRun()
  const header = await resolveHeader(deps, start)
  const { firstRunId } = await currentRun(deps, actor)
  return deps.store.createSession({ sessionId, actor, lifeRunId: firstRunId, header })
}

async function reopen(
  deps: ActivityDeps,
  known: SessionRow,
  start: SessionStart | undefined,
): Promise<SessionRow> {
  const actor = callingRun()
  const { sessionId } = known
  if (known.closed && start === undefined) {
    throw new SessionError(
      'SessionClosed',
      `Session ${sessionId} was closed: start it again to reopen it. Waiting prompts are kept.`,
    )
  }
  const header = start === undefined ? null : await resolveHeader(deps, start)
  const isOwner = known.owner.workflowId === actor.workflowId && known.owner.runId === actor.runId
  const session = isOwner ? known : await takeOver(deps, sessionId, actor)
  if (header === null || canonicalJson(header) === canonicalJson(session.header)) return session
  await asOwner(deps, sessionId, actor, (owner) =>
    deps.store.append({
      sessionId,
      actor: owner,
      turn: null,
      events: [
        {
          key: headerKey(header, session),
          type: 'request/header',
          turn: null,
          step: null,
          data: header,
          tokens: 0,
        },
      ],
    }),
  )
  return loadSession(deps, sessionId)
}

const headerKey = (header: Header, session: SessionRow) =>
  keys.header(hash53(canonicalJson(header)).toString(36), session.lastTurn, session.life)

async function openTurnOf(deps: ActivityDeps, session: SessionRow) {
  if (session.openTurn === null) return null
  const [start] = await deps.store.events(session.sessionId, {
    types: ['turn/start'],
    turn: session.openTurn,
    limit: 1,
  })
  return start?.type === 'turn/start' ? { turn: session.openTurn, requestId: start.data.requestId } : null
}

async function resolveHeader(deps: ActivityDeps, start: SessionStart): Promise<Header> {
  const model = start.model === null ? null : splitModel(start.model)
  const capacity = model === null ? null : await capacityOf(deps, model)
  const policy = resolvePolicy(
    start.policy ?? {},
    model === null
      ? null
      : {
          ...model,
          contextWindow: capacity?.contextWindow ?? null,
          maxOutputTokens: capacity?.maxOutputTokens ?? null,
        },
    presetOf(start.preset),
  )
  if (policy.summarizer !== 'deterministic' && deps.summarizer === undefined)
    requireProvider(deps, policy.summarizer.provider)
  const tools = [...new Set(start.tools)].map((name) => definitionOf(deps, name))
  return {
    provider: model?.provider ?? null,
    model: model?.model ?? null,
    system: start.system,
    tools: policy.compactTool ? [...tools, COMPACT_TOOL] : tools,
    sampling: start.sampling ?? {},
    policy,
  }
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

const capacityOf = (deps: ActivityDeps, { provider, model }: { provider: string; model: string }) =>
  requireProvider(deps, provider).capacity(model)

function presetOf(name: string | undefined): keyof typeof PRESETS | undefined {
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
