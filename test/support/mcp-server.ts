import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js'
import { png } from './png.ts'

// An MCP server in a process of its own. It writes down what it begins and what is cancelled.
//   MCP_LOG: where to; MCP_PORT: behind a URL, which asks for a key

const say = (line: string) => appendFileSync(process.env['MCP_LOG'] ?? '', `${process.pid} ${line}\n`)

const { data: PNG } = png(8, 8, 64)['source'] as { data: string }
const RICH = [
  { type: 'text', text: 'first' },
  { type: 'image', data: PNG, mimeType: 'image/png' },
  { type: 'image', data: 'AAAA', mimeType: 'image/tiff' },
  { type: 'audio', data: 'AAAAAAAA', mimeType: 'audio/wav' },
  { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'the text' } },
  { type: 'resource', resource: { uri: 'file:///b.png', mimeType: 'image/png', blob: PNG } },
  { type: 'resource', resource: { uri: 'file:///c.zip', blob: 'AAAA' } },
  { type: 'resource_link', uri: 'file:///d.md', name: 'notes', mimeType: 'text/markdown' },
] as const

type Answer = { content: readonly object[]; isError?: boolean; structuredContent?: object }
const said = (text: string): Answer => ({ content: [{ type: 'text', text }] })

type Run = (
  args: Record<string, unknown>,
  context: { signal: AbortSignal; key: unknown },
) => Answer | Promise<Answer>
const TOOLS: Readonly<Record<string, Run>> = {
  'get.pid': () => said(String(process.pid)),
  add: ({ a, b }, { key }) => said(`${Number(a) + Number(b)} for ${key}`),
  rich: () => ({ content: RICH }),
  structured: () => ({ content: [], structuredContent: { answer: 42 } }),
  refuses: () => ({ ...said('not today'), isError: true }),
  breaks: () => {
    throw new McpError(ErrorCode.InternalError, 'the disk is full')
  },
  large: ({ megabytes }) => said('x'.repeat(Number(megabytes) * 1024 * 1024)),
  parts: ({ count, kilobytes }) => ({
    content: Array.from({ length: Number(count) }, (_, n) => ({
      type: 'text',
      text: `part ${n}\n${'x'.repeat(Number(kilobytes) * 1024)}`,
    })),
  }),
  async waits(_args, { signal }) {
    await sleep(600_000, undefined, { signal }).catch(() => say('cancelled waits'))
    return said('too late')
  },
  dies: () => process.exit(3),
  /** Dies unless its file says that one did before. */
  dies_once: async ({ log }) => {
    const { readFileSync } = await import('node:fs')
    const begun = readFileSync(String(log), 'utf8').match(/begin dies_once/g) ?? []
    return begun.length > 1 ? said('worked') : process.exit(3)
  },
}
const ADD_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { a: { type: 'number', description: 'one' }, b: { type: 'number' } },
  required: ['a', 'b'],
}
const PAGE = 3

function newServer(): Server {
  const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const from = Number(params?.cursor ?? 0)
    const tools = Object.keys(TOOLS).map((name) => ({
      name,
      description: `Does ${name}.`,
      inputSchema: name === 'add' ? ADD_SCHEMA : { type: 'object' },
    }))
    const next = from + PAGE < tools.length ? { nextCursor: String(from + PAGE) } : {}
    return { tools: tools.slice(from, from + PAGE), ...next } as never
  })
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    say(`begin ${params.name}`)
    const run = TOOLS[params.name]
    if (run === undefined) throw new McpError(ErrorCode.InvalidParams, `no tool ${params.name}`)
    const key = params._meta?.['durable-compaction/idempotency-key']
    return (await run(params.arguments ?? {}, { signal, key })) as never
  })
  return server
}

export const MCP_KEY = 'Bearer of-the-test'

async function listen(port: number): Promise<void> {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const http = createServer(async (request, response) => {
    if (request.headers.authorization !== MCP_KEY) return void response.writeHead(401).end('no key')
    const id = request.headers['mcp-session-id']
    let transport = typeof id === 'string' ? sessions.get(id) : undefined
    if (transport === undefined) {
      if (id !== undefined) return void response.writeHead(404).end('no such session')
      const opened = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: (sessionId) => void sessions.set(sessionId, opened),
      })
      transport = opened
      await newServer().connect(opened as never)
    }
    await transport.handleRequest(request, response)
  })
  http.listen(port, '127.0.0.1', () => process.send?.('ready'))
  process.once('disconnect', () => process.exit()) // Its test has gone.
}

if (process.env['MCP_LOG'] !== undefined) {
  if (process.env['MCP_PORT'] !== undefined) await listen(Number(process.env['MCP_PORT']))
  else await newServer().connect(new StdioServerTransport())
}
