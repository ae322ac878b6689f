import assert from 'node:assert/strict'
import { inputTokens, OUR_PRICING, type Pricing } from '../../src/activities/models/counted-usage.ts'
import type { Session } from '../../src/client/index.ts'
import type { StartOptions } from '../../src/client/start-session.ts'
import type { ModelClient, ModelRequest } from '../../src/shared/ports/model.ts'
import type { Tool, ToolContext, ToolOutput } from '../../src/shared/ports/tool.ts'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import type { NewEvent, SessionEvent } from '../../src/shared/session/events.ts'
import { priceContent } from '../../src/shared/tokens/price.ts'
import { type ScriptedAnswer, type ScriptedReply, scriptedModel } from '../../src/worker/index.ts'
import { receivedProblems, storeProblems } from './fault-checks.ts'
import { openRealSessions, type RealSessions } from './real-sessions.ts'

// Sessions on the real server, each with a model of its own, whose every request is checked as it is received.

export interface FaultModel {
  /** What the client says of its window; null: it does not know. */
  readonly window: number | null
  /** Where the provider refuses. Default: where the client says. */
  readonly realWindow?: number
  readonly maxOutputTokens?: number
  /** Provider's tokens per token of our counter; the client does not know of it unless `firstRatio` says so. */
  readonly tokensPerOurs?: number
  readonly firstRatio?: number
  /** False: its client takes no images and documents. */
  readonly acceptsMedia?: boolean
  readonly reply: ScriptedAnswer
  readonly summary?: ScriptedAnswer | ScriptedReply
  /** What its client puts beside the parts of a reply. */
  readonly metadata?: object
}

type RunTool = (input: unknown, context: ToolContext) => Promise<ToolOutput | string>

export interface FaultStart extends Partial<Omit<StartOptions, 'model'>> {
  /** Of the tool `work`. Default: answers `done`. */
  readonly work?: RunTool
}

/** What the model of one session saw. */
export interface Seen {
  /** In order; also those that were refused. */
  readonly requests: ModelRequest[]
  /** Calls of the tool `work`, in order. */
  readonly ran: string[]
}

export interface FaultSessions extends RealSessions {
  open(model: FaultModel, start?: FaultStart): Promise<FaultSession>
}

export interface FaultSession extends Seen {
  readonly session: Session
  /** Prompts, and waits for the end of the turn. */
  say(content: string | readonly ContentBlock[], requestId?: string): ReturnType<Result>
  /** Messages that were said before: text of the user, or the assistant's blocks. They belong to no turn. */
  seed(messages: readonly (string | readonly ContentBlock[])[]): Promise<void>
  /** Closes the session and opens it again with another model. */
  reopen(model: FaultModel, start?: Partial<StartOptions>): Promise<void>
  /** Checks every invariant, of all requests so far and of the store; returns the log. */
  sound(): Promise<SessionEvent[]>
}

type Result = Awaited<ReturnType<Session['prompt']>>['result']

const OPEN_MS = 60_000

export async function openFaultSessions(): Promise<FaultSessions> {
  const models = new Map<string, FaultModel>()
  const work = new Map<string, RunTool>()
  const seen = new Map<string, Seen & { readonly problems: string[] }>()
  const seenBy = (sessionId: string) => {
    const known = seen.get(sessionId) ?? { requests: [], ran: [], problems: [] }
    seen.set(sessionId, known)
    return known
  }
  const modelNamed = (name: string): FaultModel => {
    const model = models.get(name)
    if (model === undefined) throw new Error(`no model ${name}`)
    return model
  }
  const client: ModelClient = {
    async capacity(name) {
      const { window, maxOutputTokens = 4_000, acceptsMedia = true } = modelNamed(name)
      return { contextWindow: window, maxOutputTokens, acceptsMedia }
    },
    firstUsageRatio: (name) => modelNamed(name).firstRatio ?? modelNamed(name).tokensPerOurs ?? 1,
    async generate(request, context) {
      const model = modelNamed(request.model)
      const { requests, problems } = seenBy(request.sessionId)
      const pricing = pricingOf(model)
      // A window that is not what the client says, or tokens that nobody could foresee, are found out by the refusal.
      const isKnown = model.realWindow === undefined && model.firstRatio === undefined
      const contextWindow = isKnown ? model.window : null
      requests.push(request)
      const facts = { inputTokens: inputTokens(request, pricing), contextWindow }
      problems.push(...(await receivedProblems(bench.store, request, facts)))
      const reply = await scriptedModel(model.reply, {
        pricing,
        capacity: { contextWindow: model.realWindow ?? model.window },
        summaries: model.summary ?? 'Work was done. Next: go on.',
      }).generate(request, context)
      return { ...reply, ...model.metadata }
    },
  }
  const tool: Tool = {
    name: 'work',
    description: 'Works.',
    input: { jsonSchema: { type: 'object' } },
    run(input, context) {
      seenBy(context.sessionId).ran.push(context.callId)
      return (work.get(context.sessionId) ?? (async () => 'done'))(input, context)
    },
  }
  const bench = await openRealSessions({ scripted: client }, [tool])
  let opened = 0
  const named = (model: FaultModel) => {
    const name = `model-${++opened}`
    models.set(name, model)
    return { model: `scripted/${name}`, tools: ['work'] }
  }
  return {
    ...bench,
    async open(model, { work: runs, ...start } = {}) {
      const session = await bench.start({ ...named(model), ...start })
      if (runs !== undefined) work.set(session.id, runs)
      const { requests, ran, problems } = seenBy(session.id)
      let seeded = 0
      return {
        session,
        requests,
        ran,
        async reopen(other, again = {}) {
          await session.close()
          await session.workflow.result()
          await bench.sessions.start(session.id, { ...named(other), heartbeatTimeoutMs: 2_000, ...again })
        },
        async say(content, requestId) {
          const turn = await session.prompt(content, requestId === undefined ? {} : { requestId })
          return turn.result({ timeoutMs: OPEN_MS })
        },
        async seed(messages) {
          const { runId } = await session.workflow.describe()
          const events = messages.map((message) => seedEvent(message, ++seeded))
          await bench.store.append({
            sessionId: session.id,
            actor: { workflowId: session.id, runId },
            turn: null,
            events,
          })
        },
        async sound() {
          const events = await bench.log(session)
          assert.deepEqual([...problems, ...(await storeProblems(bench.store, session.id, events))], [])
          return events
        },
      }
    },
  }
}

function pricingOf({ tokensPerOurs = 1 }: FaultModel): Pricing {
  const times =
    <T>(price: (what: T) => number) =>
    (what: T) =>
      Math.round(price(what) * tokensPerOurs)
  return {
    text: times(OUR_PRICING.text),
    tools: times(OUR_PRICING.tools),
    content: times(OUR_PRICING.content),
  }
}

function seedEvent(message: string | readonly ContentBlock[], ordinal: number): NewEvent {
  const said = typeof message === 'string'
  const content = said ? [text(message)] : [...message]
  const base = { key: `seed.${ordinal}`, turn: null, step: null, tokens: priceContent(content) } as const
  if (said) return { ...base, type: 'user/message', data: { content, source: 'import' }, surfaceOp: 'append' }
  const by = { usage: null, stopReason: 'end_turn', provider: 'scripted', model: 'earlier' }
  return { ...base, type: 'assistant/message', data: { content, ...by }, surfaceOp: 'append' }
}

/** A call of the tool `work`. */
export const call = (id: string, input: object = {}): ContentBlock => ({
  type: 'tool_use',
  id,
  name: 'work',
  input,
})

/** About so many tokens of our counter. */
export const words = (tokens: number): string => 'word '.repeat(tokens).trim()

export const ofType = <T extends SessionEvent['type']>(events: readonly SessionEvent[], type: T) =>
  events.filter((event): event is Extract<SessionEvent, { type: T }> => event.type === type)

/** How each attempt ended: `compacted`, or the code of its error. */
export const endings = (events: readonly SessionEvent[]): string[] =>
  ofType(events, 'compact/end').map(({ data }) => data.error?.code ?? 'compacted')

/** All that a request says, as one string. */
export const saidIn = ({ messages }: Pick<ModelRequest, 'messages'>): string => JSON.stringify(messages)
