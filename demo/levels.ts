import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import pc from 'picocolors'
import { scriptedModel } from '../src/activities/models/scripted.ts'
import { readLog } from '../src/cli/read-log.ts'
import { formatCount } from '../src/cli/table.ts'
import { SessionClient } from '../src/client/index.ts'
import { isCompactCheckpointSource } from '../src/shared/checkpoint-source.ts'
import type { Tool } from '../src/shared/ports/tool.ts'
import { isText, text } from '../src/shared/session/content.ts'
import type { SessionEvent, SurfaceNode } from '../src/shared/session/events.ts'
import { applyEvent, emptyLog } from '../src/shared/session/log.ts'
import { sqliteStore } from '../src/store/index.ts'
import { obtainServer } from '../src/worker/dev-server/obtain-server.ts'
import { createSessionWorker } from '../src/worker/index.ts'
import { say } from './say.ts'

const ROUNDS = 10
/** The model asks for a compaction itself in this round. */
const TOOL_ROUND = 9
const READ_ROUNDS = new Set([2, 6])
const RESULT_WORDS = 900
const THRESHOLD_TOKENS = 5_000

const LEVELS = ['micro', 'automatic', 'compact tool'] as const
type Level = (typeof LEVELS)[number]

const LEGEND = `What the model sees after each round, with the tokens of tool results. The three levels:
  micro         older results of tools become a line; read_file stays; costs no model call
  automatic     at the threshold of ${formatCount(THRESHOLD_TOKENS)} tokens everything the model has seen becomes a checkpoint
  compact tool  the model asks for the same itself`

/** Ten rounds under the `threeLevel` preset, with a threshold small enough to be reached: the surface after each, and which level acted. */
export async function showLevels(folder: string): Promise<number> {
  Runtime.install({ logger: new DefaultLogger('ERROR') })
  const server = await obtainServer({ onProgress: say })
  const store = sqliteStore({ path: join(folder, 'sessions.db') })
  const connection = await NativeConnection.connect({ address: server.address })
  const sessionId = `levels-${process.pid}-${Date.now().toString(36)}`
  const taskQueue = sessionId
  const worker = await createSessionWorker({
    connection,
    store,
    models: { demo: tenRounds() },
    tools: levelTools(),
    taskQueue,
  })
  const running = worker.run()
  const clientConnection = await Connection.connect({ address: server.address })
  try {
    const sessions = new SessionClient({
      client: new Client({ connection: clientConnection, namespace: server.namespace }),
      store,
      taskQueue,
      workerTimeoutMs: 60_000,
    })
    const session = await sessions.start(sessionId, {
      model: 'demo/ten-rounds',
      system: 'You work in rounds.',
      tools: ['bash', 'read_file'],
      preset: 'threeLevel',
      policy: { thresholdTokens: THRESHOLD_TOKENS, archive: false },
    })
    const turn = await session.prompt('Find out why the build fails, round by round.')
    const { reason } = await turn.result({ timeoutMs: 120_000 })
    await session.close('the demo has ended')
    await session.workflow.result()
    const events = await readLog(store, sessionId)
    console.log(`${LEGEND}\n`)
    printRounds(events)
    const missing = LEVELS.filter((level) => !events.some((event) => levelOf(event, events) === level))
    const holds = reason === 'completed' && missing.length === 0
    console.log(
      `\n${holds ? `${pc.green('✓')} all three levels acted` : `${pc.red('✗')} the turn ended: ${reason}; did not act: ${missing.join(', ')}`}`,
    )
    return holds ? 0 : 1
  } finally {
    worker.shutdown()
    await running
    await clientConnection.close()
    await connection.close()
    await store.close()
    await server.stop()
  }
}

function tenRounds() {
  return scriptedModel(
    ({ index }) => {
      const round = index + 1
      if (round > ROUNDS) return 'The build fails because of a missing type.'
      const id = `round_${round}`
      if (round === TOOL_ROUND) {
        return {
          content: [
            { type: 'tool_use', id, name: 'compact', input: { focus: 'keep the reason of the failure' } },
          ],
        }
      }
      const name = READ_ROUNDS.has(round) ? 'read_file' : 'bash'
      return {
        content: [text(`Round ${round}.`), { type: 'tool_use', id, name, input: { what: `part ${round}` } }],
      }
    },
    {
      capacity: { contextWindow: 32_000, maxOutputTokens: 4_000 },
      summaries: 'The build fails in the type check. Next: look at the last part.',
    },
  )
}

function levelTools(): Tool[] {
  const tool = (name: string): Tool => ({
    name,
    description: `Returns what ${name} would.`,
    input: { jsonSchema: { type: 'object' } },
    idempotent: true,
    run: async (input) => `${JSON.stringify(input)}\n${'word '.repeat(RESULT_WORDS)}`,
  })
  return [tool('bash'), tool('read_file')]
}

function printRounds(events: readonly SessionEvent[]): void {
  let log = emptyLog()
  let acted = new Set<Level>()
  let tokens = 0
  for (const event of events) {
    log = applyEvent(log, event)
    const level = levelOf(event, events)
    if (level !== undefined) acted.add(level)
    if (event.type === 'assistant/message') tokens = event.data.usage?.inputTokens ?? 0
    if (event.type !== 'step/end') continue
    const who = acted.size === 0 ? '' : pc.yellow(`  ← ${[...acted].join(', ')}`)
    const round = event.data.step > ROUNDS ? 'Answer' : `Round ${event.data.step}`
    console.log(`${pc.bold(round)} (request of ${formatCount(tokens)} tokens)${who}`)
    console.log(`   ${log.surface.map(drawNode).join(' ')}`)
    acted = new Set()
  }
}

function levelOf(event: SessionEvent, events: readonly SessionEvent[]): Level | undefined {
  if (event.type === 'tool/result' && typeof event.surfaceOp === 'object') return 'micro'
  if (event.type !== 'compact/summary') return undefined
  const start = events.find(
    (other) => other.type === 'compact/start' && other.data.compactionId === event.data.compactionId,
  )
  return start?.type === 'compact/start' && start.data.cause === 'tool' ? 'compact tool' : 'automatic'
}

function drawNode(node: SurfaceNode): string {
  if (node.type === 'assistant/message') return 'model'
  if (node.type === 'user/message')
    return isCompactCheckpointSource(node.data.source) ? pc.green('[checkpoint]') : 'user'
  const cleared = node.data.content.some((block) => isText(block) && block.text.startsWith('[Previous: used'))
  return cleared ? pc.dim(`[Previous: used ${node.data.name}]`) : pc.cyan(`${node.data.name}:${node.tokens}`)
}
