import assert from 'node:assert/strict'
import type { Session, TurnResult } from '../../src/client/index.ts'
import type { ModelClient, ModelRequest } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { isText, type ToolUseBlock } from '../../src/shared/session/content.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { priceContent, priceOverhead } from '../../src/shared/tokens/price.ts'
import { type ScriptedReply, scriptedModel } from '../../src/worker/index.ts'
import type { AnyStart } from './any-start.ts'
import { openRealSessions, type RealSessions } from './real-sessions.ts'

// Real sessions whose model plays a script of the test and keeps every request that it was sent.

type Answer = (request: ModelRequest, count: number) => ScriptedReply | Promise<ScriptedReply>

export interface Play {
  /** A turn's reply; `count` begins at 1 and counts refused requests, too. */
  readonly turn: Answer
  /** Default: a short good summary. */
  readonly summary?: Answer
}

export interface PlayedSession {
  readonly session: Session
  /** Requests of turns and of summaries, in order, those that the script refused included. */
  readonly requests: readonly ModelRequest[]
  readonly summaries: readonly ModelRequest[]
  /** Sends a prompt and waits for the end of its turn. */
  ask(text: string): Promise<TurnResult>
  events(): Promise<SessionEvent[]>
  of<T extends SessionEvent['type']>(type: T): Promise<Extract<SessionEvent, { type: T }>[]>
}

export interface PlayedSessions {
  readonly real: RealSessions
  /** Model `scripted/w16000`: its window is in its name; `scripted/unknown` has none. */
  start(play: Play, options?: Partial<AnyStart>): Promise<PlayedSession>
  /** The same session again, closed before, with other options. */
  reopen(played: PlayedSession, options: Partial<AnyStart>): Promise<void>
  close(): Promise<void>
}

export const SUMMARY = 'The user asked for words and got them. Next: go on.'

/** Gives `words` words that begin with its label. */
const WORDS: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async (input) => {
    const { label, words } = input as { label: string; words: number }
    return `${label} ${'word '.repeat(words)}end-of-${label}`
  },
}

/** A reply that calls `words` for each entry of `[label, words]`. */
export const calls = (...results: readonly (readonly [label: string, words: number])[]): ScriptedReply => ({
  content: results.map(
    ([label, words]): ToolUseBlock => ({
      type: 'tool_use',
      id: `call-${label}`,
      name: 'words',
      input: { label, words },
    }),
  ),
})

interface Script extends Play {
  readonly requests: ModelRequest[]
  readonly summaries: ModelRequest[]
}

export async function openPlayedSessions(
  options: Parameters<typeof openRealSessions>[2] = {},
): Promise<PlayedSessions> {
  const scripts = new Map<string, Script>()
  const real = await openRealSessions({ scripted: playingModel(scripts) }, [WORDS], options)
  return {
    real,
    async start(play, options = {}) {
      const session = await real.start({ model: 'scripted/w16000', ...options })
      const script: Script = { ...play, requests: [], summaries: [] }
      scripts.set(session.id, script)
      return playedSession(real, session, script)
    },
    async reopen({ session }, options) {
      await session.close()
      await session.workflow.result()
      await real.sessions.start(session.id, {
        model: 'scripted/w16000',
        tools: ['words'],
        taskQueue: real.taskQueue,
        ...options,
      })
    },
    close: () => real.close(),
  }
}

function playingModel(scripts: ReadonlyMap<string, Script>): ModelClient {
  const scriptOf = ({ sessionId }: ModelRequest): Script => {
    const script = scripts.get(sessionId)
    assert.ok(script, `session ${sessionId} has no script`)
    return script
  }
  const answers = scriptedModel(
    (request) => {
      const { turn, requests } = scriptOf(request)
      return turn(request, requests.push(request))
    },
    {
      summaries: (request) => {
        const { summary, summaries } = scriptOf(request)
        const count = summaries.push(request)
        return summary === undefined ? SUMMARY : summary(request, count)
      },
    },
  )
  return {
    ...answers,
    capacity: async (model) => ({
      contextWindow: model === 'unknown' ? null : Number(model.slice(1)),
      maxOutputTokens: null,
    }),
  }
}

function playedSession(real: RealSessions, session: Session, { requests, summaries }: Script): PlayedSession {
  return {
    session,
    requests,
    summaries,
    ask: async (text) => (await session.prompt(text)).result({ timeoutMs: 120_000 }),
    events: () => real.log(session),
    async of(type) {
      const events = await real.log(session)
      return events.filter(
        (event): event is Extract<SessionEvent, { type: typeof type }> => event.type === type,
      )
    },
  }
}

/** Everything that a request says, results included. */
export const textOf = ({ messages }: Pick<ModelRequest, 'messages'>): string => JSON.stringify(messages)

/** The newest text of the user. */
export const lastText = ({ messages }: Pick<ModelRequest, 'messages'>): string =>
  messages.at(-1)?.content.filter(isText).at(-1)?.text ?? ''

/** Tokens of our counter: what the scripted model reports as its input. */
export const sizeOf = (request: ModelRequest): number =>
  request.messages.reduce((sum, { content }) => sum + priceContent(content), priceOverhead(request))

/** Every request is valid, and fits the window with its reply. */
export function assertRequests(requests: readonly ModelRequest[], contextWindow: number): void {
  for (const request of requests) {
    const window = { contextTokens: sizeOf(request), maxTokens: request.maxTokens, contextWindow }
    assert.deepEqual(requestProblems(request.messages, { window }), [])
  }
}
