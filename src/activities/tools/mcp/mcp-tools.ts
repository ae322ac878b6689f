import { z } from 'zod'
import { isSessionError, SessionError } from '../../../shared/errors.ts'
import type { Tool } from '../../../shared/ports/tool.ts'
import { McpConnection, reasonOf } from './mcp-connection.ts'
import { mcpOutput, mcpResultSchema } from './mcp-content.ts'
import { checkMcpServer, type McpServer } from './mcp-server.ts'

/** A {@link Tool} that holds a connection until the worker has ended. */
export type McpTool = Tool & { close(): Promise<void> }

const listSchema = z.looseObject({
  tools: z.array(
    z.looseObject({
      name: z.string(),
      title: z.string().optional(),
      description: z.string().optional(),
      inputSchema: z.record(z.string(), z.unknown()),
    }),
  ),
  nextCursor: z.string().optional(),
})
type Listed = z.infer<typeof listSchema>['tools'][number]

/**
 * The tools of MCP servers, each under the name `<server>__<tool>`, with the server's own description and schema; for `tools` of a worker, which closes the
 * servers when it ends. Needs the package `@modelcontextprotocol/sdk`.
 *
 * A server that has ended is started, or connected to, anew by the next call. The list of tools is read once, here.
 *
 * @param servers by the name that begins the names of their tools
 * @throws SessionError `InvalidInput` for a server that is described wrongly, does not answer, or lacks a tool that `tools` or `rules` name; no server is left running
 */
export async function mcpTools(servers: Readonly<Record<string, McpServer>>): Promise<readonly McpTool[]> {
  for (const [name, server] of Object.entries(servers)) checkMcpServer(name, server)
  const connections = Object.entries(servers).map(([name, server]) => ({
    name,
    server,
    connection: new McpConnection(name, server),
  }))
  try {
    return (await Promise.all(connections.map(toolsOf))).flat()
  } catch (error) {
    await Promise.allSettled(connections.map(({ connection }) => connection.close()))
    throw error
  }
}

interface Named {
  readonly name: string
  readonly server: McpServer
  readonly connection: McpConnection
}

async function toolsOf({ name: serverName, server, connection }: Named): Promise<McpTool[]> {
  const listed = await listOf(serverName, connection)
  const names = listed.map(({ name }) => name)
  const missing = [...(server.tools ?? []), ...Object.keys(server.rules ?? {})].find(
    (name) => !names.includes(name),
  )
  if (missing !== undefined)
    throw invalid(
      `${serverName} has no tool ${JSON.stringify(missing)}. It has: ${names.join(', ') || 'none'}`,
    )
  const close = () => connection.close()
  return listed
    .filter(({ name }) => server.tools?.includes(name) ?? true)
    .map(({ name, title = '', description = title, inputSchema }) => ({
      name: toolName(serverName, name),
      description,
      input: { jsonSchema: inputSchema },
      ...(server.timeoutMs === undefined ? {} : { timeoutMs: server.timeoutMs }),
      ...server.rules?.[name],
      close,
      async run(input, { signal, idempotencyKey }) {
        const params = { name, arguments: input, _meta: { [KEY_META]: idempotencyKey } }
        return mcpOutput(await connection.request({ method: 'tools/call', params }, mcpResultSchema, signal))
      },
    }))
}

/** For servers that take such a key. */
const KEY_META = 'durable-compaction/idempotency-key'

/** Names of MCP may have dots and slashes, those of the Messages API may not. */
const toolName = (server: string, tool: string): string =>
  `${server}__${tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`

const LIST_MS = 30_000
/** A list without an end is none. */
const MOST_PAGES = 100

async function listOf(server: string, connection: McpConnection): Promise<Listed[]> {
  try {
    await connection.open()
  } catch (error) {
    if (isSessionError(error)) throw error
    throw invalid(`${server} does not answer: ${reasonOf(error)}`)
  }
  const tools: Listed[] = []
  let cursor: string | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor }
    try {
      const signal = AbortSignal.timeout(LIST_MS)
      const list = await connection.request({ method: 'tools/list', params }, listSchema, signal)
      tools.push(...list.tools)
      cursor = list.nextCursor
    } catch (error) {
      throw invalid(`${server} does not list its tools: ${reasonOf(error)}`)
    }
    if (cursor === undefined) return tools
  }
  throw invalid(`${server} lists more than ${MOST_PAGES} pages of tools`)
}

const invalid = (problem: string) => new SessionError('InvalidInput', `The MCP server ${problem}.`)
