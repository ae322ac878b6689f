import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Context, cancellationSignal } from '@temporalio/activity'
import type { WorkerOptions } from '@temporalio/worker'
import {
  activityTool,
  fileTools,
  mcpTools,
  WORKER_DEFAULTS,
  type WorkerTool,
} from '../../src/worker/index.ts'
import { eventually } from '../support/eventually.ts'
import { Gate } from '../support/gate.ts'
import { MCP_KEY } from '../support/mcp-server.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'
import { callingModel, callsOf } from '../support/tool-calls.ts'

// A cancelled turn stops its tools within a second: how long it takes until an activity is told, and from there until it has ended, seen from inside its worker.

/** Temporal may bundle beats for 60 s, and for 80 % of the heartbeat time-out, which is 120 s here: a worker without our throttle is far beyond. */
const TOLD_MS = 15_000
const ENDED_MS = 1_000
/** A machine that stands still for a moment delays one of them, a tool that is waited for delays all. */
const TRIES = 4

interface Seen {
  toldAt?: number
  endedAt?: number
}
/** By session and type of activity. */
const seen = new Map<string, Seen>()

const watched: NonNullable<WorkerOptions['interceptors']> = {
  activity: [
    ({ info, cancellationSignal: signal }) => ({
      inbound: {
        async execute(input, next) {
          const entry: Seen = {}
          seen.set(`${info.workflowExecution?.workflowId} ${info.activityType}`, entry)
          signal.addEventListener('abort', () => {
            entry.toldAt = performance.now()
          })
          try {
            return await next(input)
          } finally {
            entry.endedAt = performance.now()
          }
        },
      },
    }),
  ],
}

const folder = mkdtempSync(join(tmpdir(), 'dc-cancel-'))
const script = fileURLToPath(new URL('../support/mcp-server.ts', import.meta.url))
const log = (name: string) => {
  const path = join(folder, name)
  writeFileSync(path, '', { flag: 'a' })
  return path
}
let http: ChildProcess
/** On a port that no outgoing connection gets meanwhile. */
async function startHttp(): Promise<string> {
  for (;;) {
    const port = randomInt(20_000, 30_000)
    const env = { ...process.env, MCP_LOG: log('web'), MCP_PORT: String(port) }
    http = fork(script, { execArgv: ['--import', 'tsx'], env, stdio: ['ignore', 'inherit', 'ignore', 'ipc'] })
    const [word] = await Promise.race([once(http, 'message'), once(http, 'exit')])
    if (word === 'ready') return `http://127.0.0.1:${port}/mcp`
  }
}

const queue = `own-${randomUUID().slice(0, 8)}`
const begun = new Map<string, () => void>()
const never = new Gate()
const jsonSchema = { type: 'object' }
const plain = (name: string, wait: (signal: AbortSignal) => Promise<unknown>): WorkerTool => ({
  name,
  description: name,
  input: { jsonSchema },
  async run(_input, { sessionId, signal }) {
    begun.get(sessionId)?.()
    await wait(signal)
    return 'too late'
  },
})
const own = {
  async waits(_input: unknown, { sessionId }: { sessionId: string }) {
    Context.current().heartbeat()
    begun.get(sessionId)?.()
    const beat = setInterval(() => Context.current().heartbeat(), 250)
    try {
      await new Promise((_resolve, reject) => {
        const signal = cancellationSignal()
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    } finally {
      clearInterval(beat)
    }
  },
}

let real: RealSessions
before(async () => {
  const url = await startHttp()
  const stdio = {
    command: process.execPath,
    args: ['--import', 'tsx', script],
    env: { MCP_LOG: log('local') },
  }
  const tools = [
    plain('listens', (signal) => new Promise((resolve) => signal.addEventListener('abort', resolve))),
    plain('deaf', () => never.wait()),
    activityTool({
      name: 'own',
      activity: 'waits',
      taskQueue: queue,
      inputSchema: jsonSchema,
      heartbeatTimeoutMs: 120_000,
    }),
    ...fileTools(folder),
    ...(await mcpTools({
      local: { ...stdio, tools: ['waits'], connectTimeoutMs: 100_000 },
      web: { url, headers: { authorization: MCP_KEY }, tools: ['waits'] },
    })),
  ]
  real = await openRealSessions({ scripted: callingModel() }, tools, { worker: { interceptors: watched } })
  const { maxHeartbeatThrottleInterval } = WORKER_DEFAULTS
  await real.startWorker({
    taskQueue: queue,
    activities: own,
    maxHeartbeatThrottleInterval,
    interceptors: watched,
  })
})
after(async () => {
  never.open()
  await real.close()
  http.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const logged = (name: string, line: string) => (): number =>
  readFileSync(log(name), 'utf8').split(line).length - 1

describe('a cancelled turn tells a tool at once, and the call ends within a second', () => {
  const runs = (sessionId: string) => new Promise<void>((resolve) => begun.set(sessionId, resolve))
  const file = async (path: string, line = '') => {
    const before = logged(path, line)()
    await eventually(logged(path, line), (count) => count > before)
  }
  const kinds: readonly {
    kind: string
    tool: string
    input?: object
    activity?: string
    hasBegun(sessionId: string): Promise<unknown>
    hasStopped?: () => Promise<unknown>
  }[] = [
    { kind: 'a function that listens to its signal', tool: 'listens', hasBegun: runs },
    { kind: 'a function that is deaf', tool: 'deaf', hasBegun: runs },
    { kind: 'an activity of one’s own that beats', tool: 'own', activity: 'waits', hasBegun: runs },
    {
      kind: 'an MCP server by standard input',
      tool: 'local__waits',
      hasBegun: () => file('local', 'begin waits'),
      hasStopped: () => file('local', 'cancelled waits'),
    },
    {
      kind: 'an MCP server behind a URL',
      tool: 'web__waits',
      hasBegun: () => file('web', 'begin waits'),
      hasStopped: () => file('web', 'cancelled waits'),
    },
    {
      kind: 'a command',
      tool: 'run_command',
      input: { command: 'echo begun >> command; sleep 600' },
      hasBegun: () => file('command', 'begun'),
    },
  ]
  for (const { kind, tool, input = {}, activity = 'sessionRunTool', hasBegun, hasStopped } of kinds)
    test(kind, async () => {
      const ends: number[] = []
      while (ends.length < TRIES && !ends.some((ms) => ms <= ENDED_MS)) {
        const session = await real.start({ heartbeatTimeoutMs: 120_000 })
        const isRunning = hasBegun(session.id)
        const turn = await session.prompt(callsOf([[tool, input]]))
        await isRunning
        const isStopped = hasStopped?.()
        const cancelledAt = performance.now()
        await session.cancelTurn({ reason: 'enough' })
        const { toldAt, endedAt } = await eventually(
          () => seen.get(`${session.id} ${activity}`) ?? {},
          ({ endedAt }) => endedAt !== undefined,
        )
        assert.ok(toldAt !== undefined && endedAt !== undefined, 'it was told, and has ended')
        const told = toldAt - cancelledAt
        assert.ok(told < TOLD_MS, `told after ${told} ms`)
        ends.push(endedAt - toldAt)
        await isStopped
        assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'aborted')
      }
      assert.ok(
        ends.some((ms) => ms <= ENDED_MS),
        `ended after ${ends.join(', ')} ms`,
      )
    })
})
