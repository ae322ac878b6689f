import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { z } from 'zod'
import { CHECK_FIRST } from '../../tool-call.ts'
import type { McpServer } from './mcp-server.ts'
import { type McpTransport, openMcp, TOO_LARGE } from './open-mcp.ts'

const CONNECT_MS = 30_000
/** Of the question whether a server is still there. */
const PING_MS = 5_000
/** Of the good-bye to a server behind a URL. */
const END_MS = 1_000
/** The call's own signal ends it long before: the SDK's 60 s would not wait for a longer tool. */
const NEVER_MS = 2 * 86_400_000

interface Opened {
  readonly client: Client
  readonly transport: McpTransport
  hasEnded: boolean
  /** The server no longer knows its session: it takes no more calls, and is closed when none waits. */
  isLeft: boolean
  /** Why it was ended by us. */
  tooLarge?: string
  calls: number
  check?: Promise<void>
}

/** One MCP server: connected when it is first needed, and anew by the next call after it has ended. */
export class McpConnection {
  readonly #name: string
  readonly #server: McpServer
  #opened: Promise<Opened> | undefined
  #closing: Promise<void> | undefined

  constructor(name: string, server: McpServer) {
    this.#name = name
    this.#server = server
  }

  /**
   * @throws what the server answered as an error; an `Error` that says whether a server that is gone may have done the work; the signal's reason
   */
  async request<S extends z.ZodType>(
    request: { readonly method: string; readonly params: Record<string, unknown> },
    schema: S,
    signal: AbortSignal,
  ): Promise<z.infer<S>> {
    for (let isSecond = false; ; isSecond = true) {
      const opened = await this.#openFor()
      opened.calls++
      try {
        return await opened.client.request(request, schema, { signal, timeout: NEVER_MS })
      } catch (error) {
        if (signal.aborted || isSecond || !isForgotten(opened, error)) throw this.#told(opened, error)
        this.#leave(opened)
      } finally {
        opened.calls--
        if (opened.isLeft && opened.calls === 0) void this.#drop(opened)
      }
    }
  }

  async #openFor(): Promise<Opened> {
    try {
      return await this.open()
    } catch (error) {
      throw new Error(`it was not run: the MCP server ${this.#name} does not answer: ${reasonOf(error)}.`)
    }
  }

  /** @throws why no server answers */
  async open(): Promise<Opened> {
    if (this.#closing !== undefined) throw new Error('it was closed')
    this.#opened ??= this.#connect()
    return this.#opened
  }

  /** Ends the server's process, or its session. */
  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined)
    if (opened === undefined) return
    await Promise.race([
      opened.transport.terminateSession?.().catch(() => undefined),
      new Promise((resolve) => setTimeout(resolve, END_MS).unref()),
    ])
    await opened.client.close()
  }

  async #connect(): Promise<Opened> {
    const { connectTimeoutMs = CONNECT_MS } = this.#server
    const opened: Opened = { ...(await openMcp(this.#server)), hasEnded: false, isLeft: false, calls: 0 }
    const { client, transport } = opened
    client.onclose = () => this.#ended(opened)
    client.onerror = (error) => this.#suspect(opened, error)
    try {
      await client.connect(transport, { timeout: connectTimeoutMs })
      return opened
    } catch (error) {
      this.#ended(opened)
      throw new Error(`${reasonOf(error)} (connectTimeoutMs is ${connectTimeoutMs})`)
    }
  }

  /** Once for each connection: its end may be told again when the next one is open. */
  #ended(opened: Opened): void {
    if (opened.hasEnded) return
    opened.hasEnded = true
    this.#leave(opened)
  }

  #leave(opened: Opened): void {
    if (opened.isLeft) return
    opened.isLeft = true
    this.#opened = undefined
  }

  /** The SDK waits for ever for an answer whose stream broke: a server that does not answer now has ended. One that gave a status is there. */
  #suspect(opened: Opened, error: Error): void {
    const { message } = error
    const [tooLarge] = TOO_LARGE.exec(message) ?? []
    if (tooLarge !== undefined) {
      opened.tooLarge = tooLarge
      void this.#drop(opened)
    } else if (
      'url' in this.#server &&
      opened.calls > 0 &&
      !opened.hasEnded &&
      statusOf(error) === undefined
    ) {
      const isThere = () => undefined
      opened.check ??= opened.client.ping({ timeout: PING_MS }).then(isThere, () => this.#drop(opened))
      void opened.check.finally(() => delete opened.check)
    }
  }

  async #drop({ client }: Opened): Promise<void> {
    await client.close().catch(() => undefined)
  }

  #told({ hasEnded, tooLarge }: Opened, error: unknown): unknown {
    const server = `the MCP server ${this.#name}`
    const code = codeOf(error)
    if (code === 'ECONNREFUSED' || code === 'ENOTFOUND')
      return new Error(`it was not run: ${server} cannot be reached (${code}).`)
    if (!hasEnded && code === undefined) return error
    const why = tooLarge === undefined ? '' : ` (its answer ${tooLarge})`
    return new Error(`${server} ended before it answered${why}, and may have done the work. ${CHECK_FIRST}`)
  }
}

/**
 * A server that was started anew does not know the session of before, and has not taken the call: status 404, of some servers 400 with these words.
 * Any other 400 is an answer to the call.
 */
const isForgotten = ({ transport }: Opened, error: unknown): boolean =>
  transport.sessionId !== undefined &&
  (statusOf(error) === 404 || (statusOf(error) === 400 && FORGOTTEN.test(reasonOf(error))))

const FORGOTTEN = /session[- ]?id\b|not initialized/i

const statusOf = (error: unknown): number | undefined => {
  const { code } = error as { code?: unknown }
  return typeof code === 'number' ? code : undefined
}

/** Why a request did not get through: of the network, not of the server. */
const codeOf = (error: unknown): string | undefined => {
  const { cause } = error as { cause?: { code?: unknown } }
  return typeof cause?.code === 'string' ? cause.code : undefined
}

export const reasonOf = (error: unknown): string =>
  codeOf(error) ?? (error instanceof Error ? error.message : String(error))
