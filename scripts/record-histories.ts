import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import type { WorkflowHandle } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import type { Session } from '../src/client/index.ts'
import { ContextOverflowError, type ModelClient } from '../src/shared/ports/model.ts'
import type { Tool } from '../src/shared/ports/tool.ts'
import { activityTool, scriptedModel } from '../src/worker/index.ts'
import type { agentSession } from '../src/workflows/index.ts'
import {
  compactionHistoryQuery,
  promptSignal,
  requestCompactionSignal,
  sessionStateQuery,
} from '../src/workflows/messages.ts'
import { eventually } from '../test/support/eventually.ts'
import { Gate } from '../test/support/gate.ts'
import { runIds } from '../test/support/history.ts'
import { openRealSessions, type RealSessions } from '../test/support/real-sessions.ts'
import { resetBefore } from '../test/support/reset.ts'

// Records workflow histories for test/replay, with the real activities and store:
//   node --import tsx scripts/record-histories.ts [--replace] [CASE …]
// A history proves that sessions which are open today go on with the code of tomorrow: from version 0.1.0 on, files are only added.

const FOLDER = 'test/replay/histories'

/** What the session of a case does; every run of it and of its compactions is recorded. */
type Case = (real: RealSessions, start: (options?: StartOptions) => Promise<Session>) => Promise<void>
type StartOptions = Parameters<RealSessions['start']>[0]

const { values, positionals } = parseArgs({
  options: { replace: { type: 'boolean' } },
  allowPositionals: true,
})

/** Opened by a case that holds summaries back. */
let summaries: Gate | null = null
const WORDS: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => 'word '.repeat(1_300),
}

const HANDED_QUEUE = 'stamps'
const HANDED = activityTool({
  name: 'handed',
  activity: 'stamp',
  taskQueue: HANDED_QUEUE,
  inputSchema: { type: 'object' },
})

/** Replies of the whole session that call `words`, the first of them twice at once. */
const CALLING_REPLIES = 4
/** Compacts before the last of them. */
const PRESSING = { thresholdTokens: 4_500, retainTokens: 1_000 }
/** What a case may have instead of the last calling reply: the call of another tool beside it, or a refusal as too long before it. */
let last: 'compact' | 'overflow' | 'handed' | null = null
const call = (id: string, name = 'words') => ({ type: 'tool_use', id, name, input: {} })
const scripted = scriptedModel(
  ({ index }) => {
    if (index >= CALLING_REPLIES) return 'Done.'
    const calls = index === 0 ? [call('a0'), call('b0')] : [call(`c${index}`)]
    if (last !== null && index === CALLING_REPLIES - 1) calls.push(call('k0', last))
    return { content: calls }
  },
  {
    capacity: { contextWindow: 16_000, maxOutputTokens: 4_000 },
    summaries: async () => {
      await summaries?.wait()
      return 'Words were read. Next: go on.'
    },
  },
)
const model: ModelClient = {
  ...scripted,
  async generate(request, context) {
    const isLast = request.purpose === 'turn' && request.index === CALLING_REPLIES - 1
    if (!isLast || last !== 'overflow') return scripted.generate(request, context)
    last = null
    throw new ContextOverflowError('prompt is too long')
  },
}

const ask = async (session: Session, text: string) =>
  (await session.prompt(`Prompt ${text}`, { requestId: text })).result({ timeoutMs: 120_000 })
const whenCompacted = (session: Session, count = 1) =>
  eventually(
    () => session.workflow.query(compactionHistoryQuery),
    (records) => records.filter((record) => record.endedAt !== undefined).length >= count,
    60_000,
  )
const finish = async (session: Session) => {
  await session.close()
  await (session.workflow as WorkflowHandle).result()
}

const CASES: Readonly<Record<string, Case>> = {
  'turn-with-tools': async (_real, start) => {
    const session = await start()
    await ask(session, 'A')
    await finish(session)
  },
  pressure: async (_real, start) => {
    const session = await start({ policy: PRESSING })
    await ask(session, 'A')
    await finish(session)
  },
  'overflow-recovery': async (_real, start) => {
    const session = await start()
    last = 'overflow'
    await ask(session, 'A')
    await finish(session)
  },
  'compact-tool': async (_real, start) => {
    const session = await start()
    last = 'compact'
    await ask(session, 'A')
    await finish(session)
  },
  'handed-tool': async (real, start) => {
    const own = await real.startWorker({
      taskQueue: HANDED_QUEUE,
      activities: { stamp: async () => 'stamped' },
    })
    const session = await start()
    last = 'handed'
    await ask(session, 'A')
    await finish(session)
    await own.stop()
  },
  'asked-by-signal': async (_real, start) => {
    const session = await start()
    await ask(session, 'A')
    await session.workflow.signal(requestCompactionSignal, { focus: 'the words' })
    await whenCompacted(session)
    await session.workflow.signal(promptSignal, 5 as never)
    await finish(session)
  },
  'asked-and-joined': async (_real, start) => {
    const session = await start()
    await ask(session, 'A')
    summaries = new Gate()
    await session.requestCompaction({ requestId: 'r1' })
    await summaries.reached
    await session.requestCompaction({ requestId: 'r2' })
    await session.requestCompaction({ requestId: 'r3', focus: 'other', whenBusy: 'wait' })
    await session.cancelCompaction('r3', 'not needed')
    summaries.open()
    await whenCompacted(session)
    await finish(session)
  },
  'cancelled-in-compaction': async (_real, start) => {
    summaries = new Gate()
    const session = await start({ policy: PRESSING })
    const turn = await session.prompt('A', { requestId: 'A' })
    await summaries.reached
    await session.cancelTurn({ reason: 'enough' })
    await turn.result({ timeoutMs: 120_000 })
    await finish(session)
  },
  'compaction-terminated': async (real, start) => {
    const session = await start()
    await ask(session, 'A')
    summaries = new Gate()
    await session.requestCompaction({ requestId: 'r1' })
    await summaries.reached
    await real.client.workflow.getHandle(`${session.id}/compact/manual.r1`).terminate()
    await whenCompacted(session)
    summaries.open()
    await finish(session)
  },
  'rolled-over': async (real, start) => {
    const session = await start({ policy: PRESSING })
    await (session.workflow as WorkflowHandle).terminate()
    await real.client.workflow.start<typeof agentSession>('agentSession', {
      workflowId: session.id,
      taskQueue: real.taskQueue,
      args: [{ v: 1, rollOver: { events: 60 } }],
    })
    await ask(session, 'A')
    await session.prompt('B', { requestId: 'B', delivery: 'next-step' })
    await ask(session, 'C')
    await finish(session)
  },
  'reset-while-compacting': async (real, start) => {
    summaries = new Gate()
    const session = await start({ policy: PRESSING })
    const turn = await session.prompt('A', { requestId: 'A' })
    await summaries.reached
    await resetBefore(real.client, session.id, 'START_CHILD_WORKFLOW_EXECUTION_INITIATED')
    await turn.result({ timeoutMs: 120_000 })
    summaries.open()
    await finish(session)
  },
  'cancelled-and-woken': async (_real, start) => {
    const session = await start()
    await ask(session, 'A')
    await (session.workflow as WorkflowHandle).cancel()
    await (session.workflow as WorkflowHandle).result().catch(() => undefined)
    await ask(session, 'B')
    await eventually(
      () => session.workflow.query(sessionStateQuery),
      (state) => state.status === 'idle' && state.life === 2,
      30_000,
    )
    await finish(session)
  },
}

const names = positionals.length > 0 ? positionals : Object.keys(CASES)
for (const name of names)
  if (!Object.hasOwn(CASES, name))
    throw new RangeError(`no case ${name}; there are ${Object.keys(CASES).join(', ')}`)

mkdirSync(FOLDER, { recursive: true })
const real = await openRealSessions({ scripted: model }, [WORDS, HANDED], { identity: 'dc' })
try {
  for (const name of names) await record(name)
} finally {
  await real.close()
}

async function record(name: string): Promise<void> {
  const path = join(FOLDER, `${name}.json.gz`)
  if (existsSync(path) && !values.replace) return console.log(`${path} is kept`)
  const started: Session[] = []
  summaries = null
  last = null
  await CASES[name]?.(real, async (options) => {
    const session = await real.start(options)
    started.push(session)
    return session
  })
  const runs: { workflowId: string; history: unknown }[] = []
  for (const session of started) {
    for await (const { workflowId } of real.client.workflow.list({
      query: `WorkflowId STARTS_WITH '${session.id}'`,
    })) {
      if (runs.some((run) => run.workflowId === workflowId)) continue
      for (const runId of await runIds(real.client, workflowId)) {
        const history = await real.client.workflow.getHandle(workflowId, runId).fetchHistory()
        runs.push({ workflowId, history: JSON.parse(historyToJSON(history)) })
      }
    }
  }
  writeFileSync(path, gzipSync(JSON.stringify(runs), { level: 9 }))
  console.log(`${path}: ${runs.length} runs`)
}
