import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI from 'openai'

// A server of chat completions on the loopback address, as strict about what it is sent as the servers are that it stands for. The official SDK sends every request.

export interface ChatBody {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
  readonly [field: string]: unknown
}

interface ChatMessage {
  readonly role: string
  readonly content: unknown
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly arguments: string } }[]
  readonly tool_call_id?: string
}

export type ChatAnswer = (body: ChatBody, response: ServerResponse) => void

export interface ChatServer {
  readonly api: OpenAI
  readonly baseURL: string
  /** Bodies of all requests for a completion, in order. */
  readonly bodies: ChatBody[]
  /** What was wrong with a request; a test ends with none. */
  readonly problems: string[]
  answer: ChatAnswer
  /** What `/v1/models` says; undefined: the server has no such list. */
  models: readonly object[] | undefined
  close(): Promise<void>
}

export async function openChatServer(answer: ChatAnswer = says('Done.')): Promise<ChatServer> {
  const http = createServer((request, response) => {
    let json = ''
    request.on('data', (chunk) => {
      json += chunk
    })
    request.on('end', () => {
      if (request.method === 'GET') return list(server.models, response)
      const body = JSON.parse(json) as ChatBody
      server.bodies.push(body)
      const problems = chatProblems(body)
      server.problems.push(...problems)
      if (problems.length > 0) return refuses(400, { message: problems.join('; ') })(body, response)
      server.answer(body, response)
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const baseURL = `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`
  const server: ChatServer = {
    api: new OpenAI({ apiKey: 'sk-test-0123456789abcdef', baseURL }),
    baseURL,
    bodies: [],
    problems: [],
    answer,
    models: undefined,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve())
        http.closeAllConnections()
      }),
  }
  return server
}

function list(models: readonly object[] | undefined, response: ServerResponse): void {
  response.writeHead(models === undefined ? 404 : 200, { 'content-type': 'application/json' })
  response.end(
    JSON.stringify(models === undefined ? { error: 'no such page' } : { object: 'list', data: models }),
  )
}

/** What the API refuses: an order of messages, a call without a result, a result without a call, an empty content. */
function chatProblems({ messages, tools = [], tool_choice: choice }: ChatBody): string[] {
  const problems: string[] = []
  let open: string[] = []
  for (const [at, { role, content, tool_calls: calls = [], tool_call_id: id }] of messages.entries()) {
    if (role === 'tool') {
      if (id === undefined || !open.includes(id)) problems.push(`messages[${at}] answers no call`)
      if (typeof content !== 'string') problems.push(`messages[${at}] has no text`)
      open = open.filter((call) => call !== id)
      continue
    }
    if (open.length > 0) problems.push(`messages[${at}] stands before the results of ${open.join(', ')}`)
    if (!['system', 'user', 'assistant'].includes(role)) problems.push(`messages[${at}] has the role ${role}`)
    if (role === 'system' && at > 0) problems.push(`messages[${at}] is a late system message`)
    if (calls.length === 0 && (content === '' || content === null)) problems.push(`messages[${at}] is empty`)
    for (const call of calls) JSON.parse(call.function.arguments)
    open = calls.map((call) => call.id)
  }
  if (open.length > 0) problems.push(`no results of ${open.join(', ')}`)
  if (choice !== undefined && tools.length === 0) problems.push('tool_choice without tools')
  if (messages.at(-1)?.role === 'assistant') problems.push('the last message is the assistant')
  return problems
}

export interface Spoken {
  readonly text?: string
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly finish?: string | null
  readonly usage?: object | null
}

/** The chunks of one answer, as servers send them. */
export function chunksOf({ text = '', calls = [], finish, usage }: Spoken): object[] {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    model: 'local-1',
    choices: [{ index: 0, delta, finish_reason }],
  })
  const pieces = text.match(/.{1,8}/gs) ?? []
  return [
    chunk({ role: 'assistant', content: '' }),
    ...pieces.map((content) => chunk({ content })),
    ...calls.flatMap(({ id, name, arguments: json }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...(json.match(/.{1,5}/gs) ?? []).map((part) =>
        chunk({ tool_calls: [{ index, function: { arguments: part } }] }),
      ),
    ]),
    ...(finish === null ? [] : [chunk({}, finish ?? (calls.length > 0 ? 'tool_calls' : 'stop'))]),
    ...(usage === null
      ? []
      : [{ choices: [], usage: usage ?? { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } }]),
  ]
}

export const speaks =
  (spoken: Spoken): ChatAnswer =>
  (_body, response) => {
    begin(response)
    for (const chunk of chunksOf(spoken)) send(response, chunk)
    response.end('data: [DONE]\n\n')
  }

export const says = (text: string): ChatAnswer => speaks({ text })

export const begin = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_local' })

export const send = (response: ServerResponse, chunk: object) =>
  response.write(`data: ${JSON.stringify(chunk)}\n\n`)

export const refuses =
  (status: number, error: object, headers: Record<string, string> = {}): ChatAnswer =>
  (_body, response) => {
    response.writeHead(status, {
      'content-type': 'application/json',
      'x-request-id': 'req_local',
      ...headers,
    })
    response.end(JSON.stringify({ error }))
  }
