import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { type Session, SessionClient } from '../../src/client/index.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { createSessionWorker, scriptedModel } from '../../src/worker/index.ts'

/** Steps that are measured, each one model call and two tools. */
export const MEASURED_STEPS = 4
const WINDOW = 4_000_000
/** Tokens of one large result; a word and its blank are one token. */
const PART_TOKENS = 100_000

export interface LongSession {
  readonly session: Session
  readonly client: Client
  close(): Promise<void>
}

/** A session whose context has about so many tokens, and which then ran some ordinary steps. Real server, store and activities. */
export async function runLongSession(address: string, contextTokens: number): Promise<LongSession> {
  const folder = mkdtempSync(join(tmpdir(), 'dc-bench-'))
  const store = sqliteStore({ path: join(folder, 'sessions.db') })
  const taskQueue = `bench-${randomUUID().slice(0, 8)}`
  const connection = await NativeConnection.connect({ address })
  const fillers = Math.max(1, Math.round(contextTokens / PART_TOKENS))
  const worker = await createSessionWorker({
    connection,
    store,
    models: { bench: fillingModel(fillers) },
    tools: [wordsTool('fill', Math.min(contextTokens, PART_TOKENS)), wordsTool('small', 20)],
    taskQueue,
    worker: { buildId: 'b' },
  })
  const running = worker.run()
  const clientConnection = await Connection.connect({ address })
  const client = new Client({ connection: clientConnection })
  const sessions = new SessionClient({ client, store, taskQueue, workerTimeoutMs: 60_000 })
  const session = await sessions.start(`bench-${randomUUID().slice(0, 8)}`, {
    model: 'bench/filling',
    tools: ['fill', 'small'],
    policy: {
      toolResultMaxTokens: 2 * PART_TOKENS,
      thresholdTokens: WINDOW / 2,
      retainTokens: 1000,
      micro: false,
    },
  })
  const turn = await session.prompt('Fill the context, then work.')
  await turn.result({ timeoutMs: 300_000 })
  return {
    session,
    client,
    async close() {
      worker.shutdown()
      await running
      await clientConnection.close()
      await connection.close()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function fillingModel(fillers: number) {
  return scriptedModel(
    ({ index }) => {
      if (index < fillers) return { content: [call(index, 0, 'fill')] }
      if (index < fillers + MEASURED_STEPS)
        return { content: [call(index, 0, 'small'), call(index, 1, 'small')] }
      return 'Done.'
    },
    {
      capacity: { contextWindow: WINDOW, maxOutputTokens: 4_000 },
      summaries: 'The context was filled. Next: nothing.',
    },
  )
}

const call = (index: number, n: number, name: string) => ({
  type: 'tool_use',
  id: `c${index}_${n}`,
  name,
  input: {},
})

function wordsTool(name: string, tokens: number): Tool {
  const output = ' word'.repeat(tokens)
  return {
    name,
    description: name,
    input: { jsonSchema: { type: 'object' } },
    idempotent: true,
    run: async () => output,
  }
}
