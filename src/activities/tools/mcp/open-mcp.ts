import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { SessionError } from '../../../shared/errors.ts'
import { LIMITS } from '../../../shared/limits.ts'
import { boundedBody } from '../../models/bounded-body.ts'
import type { McpServer } from './mcp-server.ts'

export type McpTransport = Transport & { terminateSession?(): Promise<void> }

/** A client and the way to its server, not yet connected. The SDK is loaded here, and not before: who has no MCP server needs no SDK. */
export async function openMcp(server: McpServer): Promise<{ client: Client; transport: McpTransport }> {
  const { Client: McpClient } = await loaded(() => import('@modelcontextprotocol/sdk/client/index.js'))
  const client = new McpClient({ name: 'durable-compaction', version: '0' }, { capabilities: {} })
  if ('url' in server) {
    const { StreamableHTTPClientTransport } = await import(
      '@modelcontextprotocol/sdk/client/streamableHttp.js'
    )
    const requestInit = { headers: { ...server.headers } }
    const transport = new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit,
      fetch: boundedAnswers,
    })
    return { client, transport: transport as Transport }
  }
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js')
  const { command, args = [], env = {}, cwd } = server
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    maxBufferSize: MOST_STDIO_BYTES,
    ...(cwd === undefined ? {} : { cwd }),
  })
  return { client, transport }
}

/** Answers come to an end; the stream of notifications, which is a GET, need not. */
const boundedAnswers: typeof fetch = async (url, init) => {
  const response = await fetch(url, init)
  return init?.method === 'POST' ? boundedBody(response) : response
}

/**
 * Of one answer by standard output: half more than is kept of an output, since JSON writes it longer. The SDK's own 10 MiB are less than is kept; but it copies all that
 * has come with each piece, and far more would hold the worker.
 */
const MOST_STDIO_BYTES = 1.5 * LIMITS.toolOutputBytes

/** What an answer above the limit is told by: that above, and 64 MiB behind a URL. */
export const TOO_LARGE = /exceeded maximum size of \d+ bytes|has more than \d+ bytes/

async function loaded<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new SessionError(
      'InvalidInput',
      'mcpTools needs the package @modelcontextprotocol/sdk, which is not installed: npm install @modelcontextprotocol/sdk',
    )
  }
}
