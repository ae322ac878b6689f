import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '@temporalio/client'

/** A Temporal server that can be worked against. */
export interface TemporalServer {
  /** `host:port` of its gRPC frontend. */
  address: string
  namespace: string
  /** The web page, or null when the server shows none or when that is not known. */
  uiUrl: string | null
  /** Where it came from, for people: a version and a path, or the variable that named it. */
  origin: string
  /** Ends it in order. Does nothing to a server that was already running. */
  stop(): Promise<void>
  /** Ends it as a crash would. Does nothing to a server that was already running. */
  kill(): Promise<void>
}

export interface DevServerOptions {
  cliPath: string
  /** Default: a free port. A taken one is an error. */
  port?: number
  /** The web page: a port, `true` for a free one. Default: none. */
  ui?: boolean | number
  /** SQLite file; without it the server forgets everything when it ends. */
  dbFilename?: string
  /** Server settings, by name. */
  dynamicConfig?: Readonly<Record<string, unknown>>
}

/** No server could be found, started or reached. The message says why and what to do. */
export class TemporalServerUnavailable extends Error {
  override readonly name = 'TemporalServerUnavailable'
}

const NAMESPACE = 'default'
const READY_MS = 30_000
const STOP_MS = 5_000

/** The server looks for free ports of its own (HTTP, metrics) and may lose one, as we may, to another process before it listens. */
const PORT_ATTEMPTS = 4
const PORT_TAKEN = /address already in use/

/**
 * Run between us and the server, and ended with us: it holds a pipe to this process, which closes however this process
 * ends, also by SIGKILL, and then ends the server. Text, since it must start at once and without a loader.
 */
const GUARD = `
const server = require('node:child_process').spawn(process.argv[1], process.argv.slice(2), { stdio: ['ignore', 'ignore', 'inherit'] })
const end = () => { server.kill(); setTimeout(() => server.kill('SIGKILL'), ${STOP_MS - 1_000}).unref() }
server.on('error', (error) => { console.error(error.message); process.exit(1) })
server.on('exit', (code) => process.exit(code ?? 1))
process.stdin.resume().on('end', end).on('error', end)
`

/**
 * Starts the Temporal CLI's development server and waits until its namespace answers. The server ends with this process,
 * however that ends.
 *
 * @throws {@link TemporalServerUnavailable}
 */
export async function startDevServer(options: DevServerOptions): Promise<TemporalServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(options)
    } catch (error) {
      if (attempt === PORT_ATTEMPTS || !PORT_TAKEN.test((error as Error).message)) throw error
    }
  }
}

async function startOnce(options: DevServerOptions): Promise<TemporalServer> {
  if (options.port) await assertPortFree(options.port)
  const port = options.port || (await freePort())
  const uiPort = options.ui === true ? await freePort() : options.ui || null
  if (typeof options.ui === 'number') await assertPortFree(options.ui)
  const address = `127.0.0.1:${port}`
  const guard = spawn(
    process.execPath,
    ['-e', GUARD, options.cliPath, ...serverArgs(options, port, uiPort)],
    {
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['pipe', 'ignore', 'pipe'],
      detached: true, // A group of its own: Ctrl-C reaches us, and we end the server after our own work.
      windowsHide: true,
    },
  )
  let complaint = ''
  guard.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2_000)
  })
  const exited = new Promise<void>((resolve) => guard.once('close', () => resolve()))
  const end = async (how: () => void) => {
    how()
    const late = sleep(STOP_MS, 'late' as const, { ref: false })
    if ((await Promise.race([exited, late])) === 'late') killGroup(guard.pid)
    await exited
  }
  const server: TemporalServer = {
    address,
    namespace: NAMESPACE,
    uiUrl: uiPort === null ? null : `http://127.0.0.1:${uiPort}`,
    origin: options.cliPath,
    stop: () => end(() => guard.stdin.destroy()),
    kill: () => end(() => killGroup(guard.pid)),
  }
  const deadline = new AbortController()
  try {
    const gone = exited.then(() => `it ended at once: ${complaint.trim() || 'it gave no reason'}`)
    const problem = await Promise.race([gone, untilReady(address, NAMESPACE, READY_MS, deadline.signal)])
    if (problem !== undefined)
      throw new TemporalServerUnavailable(
        `The development server ${options.cliPath} did not start: ${problem}`,
      )
    return server
  } catch (error) {
    await server.kill()
    throw error
  } finally {
    deadline.abort()
  }
}

function serverArgs(options: DevServerOptions, port: number, uiPort: number | null): string[] {
  const { dbFilename, dynamicConfig = {} } = options
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--log-level', 'error'],
    ...(uiPort === null ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...(dbFilename === undefined ? [] : ['--db-filename', dbFilename]),
    ...Object.entries(dynamicConfig).flatMap(([key, value]) => [
      '--dynamic-config-value',
      `${key}=${JSON.stringify(value)}`,
    ]),
  ]
}

/** @returns undefined once the namespace answers, otherwise why it did not in time. */
export async function untilReady(
  address: string,
  namespace: string,
  withinMs: number,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const until = performance.now() + withinMs
  for (;;) {
    const problem = await describeNamespace(address, namespace)
    if (problem === undefined || signal?.aborted) return undefined
    if (performance.now() >= until) return problem
    await sleep(100)
  }
}

async function describeNamespace(address: string, namespace: string): Promise<string | undefined> {
  try {
    const connection = await Connection.connect({ address, connectTimeout: 2_000 })
    try {
      const ask = () => connection.workflowService.describeNamespace({ namespace })
      await connection.withDeadline(Date.now() + 2_000, ask)
      return undefined
    } finally {
      await connection.close()
    }
  } catch (error) {
    return (error as Error).message
  }
}

async function freePort(): Promise<number> {
  const port = await listenOnce(0)
  if (port instanceof Error) throw new TemporalServerUnavailable(`No free port on 127.0.0.1: ${port.message}`)
  return port
}

async function assertPortFree(port: number): Promise<void> {
  const listened = await listenOnce(port)
  if (listened instanceof Error) {
    throw new TemporalServerUnavailable(
      `Port ${port} cannot be used (${listened.message}). Choose another, or end what listens there.`,
    )
  }
}

async function listenOnce(port: number): Promise<number | Error> {
  return await new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', resolve)
    probe.listen(port, '127.0.0.1', () => {
      const bound = probe.address()
      probe.close(() => resolve(typeof bound === 'object' && bound !== null ? bound.port : port))
    })
  })
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}
