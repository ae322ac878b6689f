import assert from 'node:assert/strict'
import { inputTokens, OUR_PRICING, type Pricing } from '../../src/activities/models/counted-usage.ts'
import type { Session } from '../../src/client/index.ts'
import { LIMITS } from '../../src/shared/limits.ts'
import type { ModelClient, ModelRequest } from '../../src/shared/ports/model.ts'
import type { Tool, ToolContext, ToolOutput } from '../../src/shared/ports/tool.ts'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import type { NewEvent, SessionEvent } from '../../src/shared/session/events.ts'
import { priceContent } from '../../src/shared/tokens/price.ts'
import { type ScriptedAnswer, type ScriptedReply, scriptedModel } from '../../src/worker/index.ts'
import type { Wire } from './anthropic/wire.ts'
import type { AnyStart } from './any-start.ts'
import { eventually } from './eventually.ts'
import { receivedProblems, storeProblems } from './fault-checks.ts'
import { openRealSessions, type RealSessions } from './real-sessions.ts'

// Sessions on the real server, each with a model of its own, whose every request is checked as it is received.

export interface FaultModel {
  /** `tight`: takes requests of at most `TIGHT_BYTES`. Default `scripted`. */
  readonly provider?: 'scripted' | 'tight'
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
  /** `index` counts the replies of this model, without those that were seeded. */
  readonly reply: ScriptedAnswer
  readonly summary?: ScriptedAnswer | ScriptedReply
  /** What its client puts beside the parts of a reply. */
  readonly metadata?: object
}

type RunTool = (input: unknown, context: ToolContext) => Promise<ToolOutput | string>

export interface FaultStart extends Partial<Omit<AnyStart, 'model'>> {
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
  /** Messages that were said before. They belong to no turn. */
  seed(messages: readonly Seed[]): Promise<void>
  /** Closes the session and opens it again with another model. */
  reopen(model: FaultModel, start?: Partial<AnyStart>): Promise<void>
  /** Checks every invariant, of all requests so far and of the store; returns the log. */
  sound(): Promise<SessionEvent[]>
}

/** Text of the user, the assistant's blocks, or the result of a call. */
export type Seed = string | readonly ContentBlock[] | { readonly resultOf: string; readonly content: string }

type Result = Awaited<ReturnType<Session['prompt']>>['result']

export const TIGHT_BYTES = 4_000_000
const OPEN_MS = 90_000

/**
 * @param others tools beside `work`; a session that uses them names all of its tools
 * @param wire every call goes over it, and what it finds wrong with any request is among the problems of each session
 */
export async function openFaultSessions(others: readonly Tool[] = [], wire?: Wire): Promise<FaultSessions> {
  const models = new Map<string, FaultModel>()
  const work = new Map<string, RunTool>()
  const seen = new Map<string, Seen & { readonly problems: string[]; seededReplies: number }>()
  const seenBy = (sessionId: string) => {
    const known = seen.get(sessionId) ?? { requests: [], ran: [], problems: [], seededReplies: 0 }
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
      const { requests, problems, seededReplies } = seenBy(request.sessionId)
      const pricing = pricingOf(model)
      // A window that is not what the client says, or tokens that nobody could foresee, are found out by the refusal.
      const isKnown = model.realWindow === undefined && model.firstRatio === undefined
      const contextWindow = isKnown ? model.window : null
      requests.push(request)
      const maxBodyBytes = model.provider === 'tight' ? TIGHT_BYTES : LIMITS.requestBytes
      const facts = { inputTokens: inputTokens(request, pricing), contextWindow, maxBodyBytes }
      problems.push(...(await receivedProblems(bench.store, request, facts)))
      const reply = await scriptedModel(
        (asked, context) => model.reply({ ...asked, index: asked.index - seededReplies }, context),
        {
          pricing,
          capacity: { contextWindow: model.realWindow ?? model.window },
          summaries: model.summary ?? 'Work was done. Next: go on.',
        },
      ).generate(request, context)
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
  const asked = wire === undefined ? client : wire.over(client)
  const bench = await openRealSessions(
    { scripted: asked, tight: { ...asked, maxRequestBytes: TIGHT_BYTES } },
    [tool, ...others],
  )
  // A crowded machine may need longer than the client waits.
  const opens = ({ id }: Session) =>
    eventually(
      () => bench.store.session(id),
      (row) => row !== null && !row.closed,
      OPEN_MS,
    )
  let opened = 0
  const named = (model: FaultModel) => {
    const name = `model-${++opened}`
    models.set(name, model)
    return { model: `${model.provider ?? 'scripted'}/${name}`, tools: ['work'] }
  }
  return {
    ...bench,
    async open(model, { work: runs, ...start } = {}) {
      const session = await bench.start({ ...named(model), ...start, wait: false })
      await opens(session)
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
          const start = { ...named(other), heartbeatTimeoutMs: 2_000, ...again, wait: false }
          await bench.sessions.start(session.id, start)
          await opens(session)
        },
        async say(content, requestId) {
          const turn = await session.prompt(content, requestId === undefined ? {} : { requestId })
          return turn.result({ timeoutMs: OPEN_MS })
        },
        async seed(messages) {
          const { runId } = await session.workflow.describe()
          const events = messages.map((message) => seedEvent(message, ++seeded))
          seenBy(session.id).seededReplies += ofType(events, 'assistant/message').length
          await bench.store.append({
            sessionId: session.id,
            actor: { workflowId: session.id, runId },
            turn: null,
            events,
          })
        },
        async sound() {
          const events = await bench.log(session)
          const wireProblems = wire?.problems ?? []
          const found = [
            ...problems,
            ...wireProblems,
            ...(await storeProblems(bench.store, session.id, events)),
          ]
          assert.deepEqual(found, [])
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

function seedEvent(message: Seed, ordinal: number): NewEvent {
  const base = { key: `seed.${ordinal}`, turn: null, step: null, surfaceOp: 'append' } as const
  if (typeof message === 'string') {
    const content = [text(message)]
    return {
      ...base,
      type: 'user/message',
      data: { content, source: 'import' },
      tokens: priceContent(content),
    }
  }
  if ('resultOf' in message) {
    const content = [text(message.content)]
    const data = { callId: message.resultOf, name: 'work', content, isError: false }
    return { ...base, type: 'tool/result', data, tokens: priceContent(content) }
  }
  const by = { usage: null, stopReason: 'end_turn', provider: 'scripted', model: 'earlier' }
  const data = { content: [...message], ...by }
  return { ...base, type: 'assistant/message', data, tokens: priceContent(message) }
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

export const ofType = <E extends { readonly type: string }, T extends E['type']>(
  events: readonly E[],
  type: T,
) => events.filter((event): event is Extract<E, { type: T }> => event.type === type)

/** How each attempt ended: `compacted`, or the code of its error. */
export const endings = (events: readonly SessionEvent[]): string[] =>
  ofType(events, 'compact/end').map(({ data }) => data.error?.code ?? 'compacted')

/** So many rounds of question and answer, each of about `tokens`. */
export const rounds = (count: number, tokens: number): Seed[] =>
  Array.from({ length: count }, (_, n): Seed[] => [
    `Question ${n}.`,
    [text(`Answer ${n}. ${words(tokens - 20)}`)],
  ]).flat()

/** Tokens of a request by our counter. */
export const sizeOf = (request: ModelRequest): number => inputTokens(request, OUR_PRICING)

export const requestsFor = (purpose: ModelRequest['purpose'], { requests }: Seen): ModelRequest[] =>
  requests.filter((request) => request.purpose === purpose)

/** All that a request says, as one string. */
export const saidIn = ({ messages }: Pick<ModelRequest, 'messages'>): string => JSON.stringify(messages)
