import { ContextOverflowError, type ModelClient, type ModelRequest } from '../../../src/shared/ports/model.ts'
import type { Usage } from '../../../src/shared/session/events.ts'
import { anthropicModels } from '../../../src/worker/index.ts'
import { openAnthropicServer, refuse, reply } from './server.ts'
import type { Json } from './valid-blocks.ts'
import type { Expected } from './valid-request.ts'

/** The live client with a scripted model behind it: every call of a model goes over HTTP, and the far end judges it before the script answers. */
export interface Wire {
  /** The same model, asked by the live client. */
  over(model: ModelClient): ModelClient
  /** Requests so far, in order. */
  readonly asked: readonly Asked[]
  /** What was wrong with them. */
  readonly problems: readonly string[]
  close(): void
}

export interface Asked {
  readonly purpose: ModelRequest['purpose']
  readonly body: Json
}

const CALL = 'x-test-call'

export async function openWire(expected: Expected = {}): Promise<Wire> {
  const server = await openAnthropicServer(expected)
  const calls = new Map<string, { readonly model: ModelClient; readonly request: ModelRequest }>()
  const asked: Asked[] = []
  let lastCall = 0
  server.answer = async ({ headers, body, closed }, response) => {
    const call = calls.get(String(headers[CALL]))
    if (call === undefined) return refuse(response, 500, 'api_error', 'nobody made this call')
    asked.push({ purpose: call.request.purpose, body })
    const abort = new AbortController()
    closed.then(() => abort.abort())
    try {
      const given = await call.model.generate(call.request, { signal: abort.signal })
      reply(response, { ...given, model: given.model ?? call.request.model, usage: wireUsage(given.usage) })
    } catch (error) {
      if (error instanceof ContextOverflowError)
        return refuse(response, 400, 'invalid_request_error', error.message)
      refuse(response, 500, 'api_error', String(error))
    }
  }
  return {
    over: (model) => ({
      ...model,
      async generate(request, context) {
        const call = String(++lastCall)
        calls.set(call, { model, request })
        const api = server.client({ defaultHeaders: { [CALL]: call } })
        return anthropicModels(api)
          .generate(request, context)
          .finally(() => calls.delete(call))
      },
    }),
    asked,
    problems: server.problems,
    close: () => server.close(),
  }
}

const wireUsage = (usage: Usage | null): Record<string, number> =>
  usage === null
    ? {}
    : {
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        cache_read_input_tokens: usage.cacheReadTokens,
        cache_creation_input_tokens: usage.cacheWriteTokens,
      }
