import { z } from 'zod'
import { SessionError } from '../../../shared/errors.ts'
import type { ToolRules } from '../../../shared/ports/tool.ts'
import { problemOf } from '../../../shared/protocol.ts'

/** What every server may have, however it is reached. */
interface McpServerRules {
  /** Only these of its tools, by the server's own names. Default: all that it lists. */
  readonly tools?: readonly string[]
  /** Of each call of its tools. Default 120,000. */
  readonly timeoutMs?: number
  /** How single tools run, by the server's own names: before `timeoutMs`. What a server says of itself (`idempotentHint`) is not trusted. */
  readonly rules?: Readonly<Record<string, ToolRules>>
  /** How long a start of the server, or of a new connection to it, may take. Default 30,000. */
  readonly connectTimeoutMs?: number
}

/** A server in a process of its own, started by the worker and spoken to by its standard input and output. */
export interface McpStdioServer extends McpServerRules {
  readonly command: string
  readonly args?: readonly string[]
  /** What it gets beside PATH, HOME, USER, SHELL, TERM and LOGNAME: nothing else of the worker's environment reaches it. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** A server behind a URL (Streamable HTTP). */
export interface McpHttpServer extends McpServerRules {
  readonly url: string
  /** Such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>
}

export type McpServer = McpStdioServer | McpHttpServer

const texts = z.record(z.string(), z.string())
const ms = z.int().positive().max(86_400_000)
const rules = {
  tools: z.array(z.string()).optional(),
  timeoutMs: ms.optional(),
  connectTimeoutMs: ms.optional(),
  rules: z
    .record(
      z.string(),
      z.strictObject({
        idempotent: z.boolean().optional(),
        timeoutMs: ms.optional(),
        retries: z.int().nonnegative().optional(),
      }),
    )
    .optional(),
}
const stdioSchema = z.strictObject({
  command: z.string().min(1),
  args: z.array(z.string()).optional(),
  env: texts.optional(),
  cwd: z.string().optional(),
  ...rules,
})
const httpSchema = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  headers: texts.optional(),
  ...rules,
})

/** It begins the names of the tools. */
const SERVER_NAME = /^[A-Za-z0-9_-]{1,64}$/

/** @throws SessionError `InvalidInput` for what describes no server, by name and field */
export function checkMcpServer(name: string, server: McpServer): void {
  if (!SERVER_NAME.test(name))
    throw new SessionError(
      'InvalidInput',
      `The name of an MCP server begins the names of its tools: 1 to 64 characters of A-Z a-z 0-9 _ -, got ${JSON.stringify(name)}.`,
    )
  const schema = typeof server === 'object' && server !== null && 'url' in server ? httpSchema : stdioSchema
  const problem = problemOf(schema, server, `MCP server ${name}`)
  if (problem !== undefined) throw new SessionError('InvalidInput', problem)
}
