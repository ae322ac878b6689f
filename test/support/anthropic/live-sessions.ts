import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Session } from '../../../src/client/index.ts'
import type { Message } from '../../../src/shared/session/content.ts'
import { type AnthropicModelsOptions, anthropicModels, type WorkerTool } from '../../../src/worker/index.ts'
import type { AnyStart } from '../any-start.ts'
import { openRealSessions, type RealSessions } from '../real-sessions.ts'
import { type AnthropicServer, openAnthropicServer, type Received, reply } from './server.ts'
import type { StreamedReply } from './stream-events.ts'
import type { Expected } from './valid-request.ts'

// Sessions whose model is the live client over HTTP, each answered by a script of its own.

/** Answers the requests of one session, in order: a reply, or whatever a function does with the response. */
export type Script = readonly (StreamedReply | ((request: Received, response: ServerResponse) => unknown))[]

export interface LiveSession {
  readonly session: Session
  /** Requests that this session's model received, in order, each once. */
  readonly received: Received[]
  /** Prompts, and waits for the end of the turn. */
  say(prompt: string): ReturnType<Awaited<ReturnType<Session['prompt']>>['result']>
}

export interface LiveSessions extends RealSessions {
  readonly server: AnthropicServer
  open(script: Script, start?: Partial<AnyStart>): Promise<LiveSession>
}

export interface LiveOptions {
  readonly tools?: readonly WorkerTool[]
  readonly expected?: Expected
  readonly models?: AnthropicModelsOptions
}

const TURN_MS = 90_000
const DONE: StreamedReply = { content: [{ type: 'text', text: 'Done.' }] }

export async function openLiveSessions({
  tools = [],
  expected,
  models,
}: LiveOptions = {}): Promise<LiveSessions> {
  const server = await openAnthropicServer(expected)
  const scripts = new Map<string, { readonly script: Script; readonly received: Received[] }>()
  server.answer = async (request, response) => {
    const { script = [], received = [] } = scripts.get(String(request.body['model'])) ?? {}
    // A machine that stood still has an attempt repeated: the same request has the same answer.
    const before = received.findIndex(({ json }) => json === request.json)
    if (before < 0) received.push(request)
    const answer = script[before < 0 ? received.length - 1 : before] ?? DONE
    if (typeof answer === 'function') await answer(request, response)
    else reply(response, answer)
  }
  const real = await openRealSessions({ anthropic: anthropicModels(server.client(), models) }, tools)
  return {
    ...real,
    server,
    async open(script, start = {}) {
      const model = `claude-${randomUUID().slice(0, 8)}`
      const received: Received[] = []
      scripts.set(model, { script, received })
      const session = await real.start({ model: `anthropic/${model}`, ...start })
      return {
        session,
        received,
        say: async (prompt) => (await session.prompt(prompt)).result({ timeoutMs: TURN_MS }),
      }
    },
    async close() {
      await real.close()
      server.close()
    },
  }
}

/** Messages of a request, without the marks of the prompt cache. */
export const messagesOf = ({ body }: Received): readonly Message[] =>
  JSON.parse(
    JSON.stringify(body['messages'], (key, value) => (key === 'cache_control' ? undefined : value)),
  ) as readonly Message[]
