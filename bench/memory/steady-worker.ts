import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { SessionClient } from '../../src/client/index.ts'
import type { ModelClient } from '../../src/shared/ports/model.ts'
import { text } from '../../src/shared/session/content.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { createSessionWorker } from '../../src/worker/index.ts'

export interface MemorySample {
  readonly step: number
  readonly residentMb: number
  /** What is left after a collection. */
  readonly heapMb: number
}

interface Setting {
  readonly address: string
  readonly steps: number
  readonly contextTokens: number
}

const MB = 1_000_000
/** Tokens of one result: a word and its blank are one. The first ones fill the context. */
const RESULT_TOKENS = 5_000
const FILLING = { results: 5, tokens: 30_000 } as const
/** The process is measured at the beginning of every so many steps. */
const EVERY = 2

// One session whose context rises to the threshold, is compacted, and rises again: each request is between three quarters and all of it.
const setting = JSON.parse(process.argv[2] ?? '') as Setting
const collect = globalThis.gc ?? (() => undefined)

function measure(step: number): void {
  const residentMb = process.memoryUsage.rss() / MB
  collect()
  process.send?.({ step, residentMb, heapMb: process.memoryUsage().heapUsed / MB } satisfies MemorySample)
}

const model: ModelClient = {
  capacity: async () => ({ contextWindow: 1_000_000, maxOutputTokens: 4_000 }),
  firstUsageRatio: () => 1,
  async generate({ purpose, index }) {
    const usage = null
    if (purpose === 'summary')
      return { content: [text('Words were read. Next: read on.')], stopReason: 'end_turn', usage }
    if (index % EVERY === 0) measure(index)
    if (index >= setting.steps) return { content: [text('Done.')], stopReason: 'end_turn', usage }
    const call = { type: 'tool_use', id: `c${index}`, name: 'words', input: { index } }
    return { content: [call], stopReason: 'tool_use', usage }
  },
}

Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined) })
const folder = mkdtempSync(join(tmpdir(), 'dc-memory-'))
const store = sqliteStore({ path: join(folder, 'sessions.db') })
const connection = await NativeConnection.connect({ address: setting.address })
const worker = await createSessionWorker({
  connection,
  store,
  taskQueue: 'memory',
  models: { bench: model },
  tools: [
    {
      name: 'words',
      description: 'Words.',
      input: { jsonSchema: { type: 'object' } },
      idempotent: true,
      run: async (input) => {
        const { index } = input as { readonly index: number }
        return `${index}${' word'.repeat(index < FILLING.results ? FILLING.tokens : RESULT_TOKENS)}`
      },
    },
  ],
})
const running = worker.run()
const clientConnection = await Connection.connect({ address: setting.address })
const client = new Client({ connection: clientConnection })
const sessions = new SessionClient({ client, store, taskQueue: 'memory', workerTimeoutMs: 60_000 })
const session = await sessions.start('memory', {
  model: 'bench/words',
  tools: ['words'],
  policy: {
    thresholdTokens: setting.contextTokens,
    retainTokens: Math.round(setting.contextTokens * 0.75),
    toolResultMaxTokens: 2 * FILLING.tokens,
    micro: false,
    prune: false,
  },
})
const turn = await session.prompt('Read the words.')
await turn.result({ timeoutMs: 6 * 3_600_000 })
worker.shutdown()
await running
await clientConnection.close()
await connection.close()
await store.close()
rmSync(folder, { recursive: true, force: true })
process.disconnect?.()
