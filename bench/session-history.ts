import type { Client } from '@temporalio/client'
import { DefaultLogger, Runtime } from '@temporalio/worker'
import { formatCount, formatTable } from '../src/cli/table.ts'
import { poll } from '../src/client/poll.ts'
import { findTemporalCli } from '../src/worker/dev-server/find-cli.ts'
import { startDevServer } from '../src/worker/dev-server/start-dev-server.ts'
import { type Cost, costOfChild, costPerStep, historyOf } from './history/history-size.ts'
import { MEASURED_STEPS, runLongSession } from './history/long-session.ts'
import { wholeTranscriptCost } from './history/whole-transcript.ts'

const CONTEXTS = [10_000, 100_000, 1_000_000] as const
const SHORT_CONTEXTS = [10_000, 100_000] as const

/** Workflow history of a step and of a compaction, at several sizes of the context, beside the whole-transcript way. Returns what is above its bound. */
export async function benchSessionHistory(short: boolean): Promise<string[]> {
  Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined) })
  const server = await startDevServer({ cliPath: (await findTemporalCli()).path })
  const problems: string[] = []
  const rows: (string | number)[][] = []
  try {
    let first: Cost | undefined
    for (const context of short ? SHORT_CONTEXTS : CONTEXTS) {
      const ours = await measureSession(server.address, context, problems)
      const whole = await wholeTranscriptCost(server.address, context)
      first ??= ours.step
      rows.push([
        formatCount(context),
        ours.step.events,
        Math.round(ours.step.bytes),
        (ours.step.bytes / first.bytes).toFixed(2),
        whole === null ? 'refused' : Math.round(whole.bytes),
        whole === null ? '' : `${(whole.bytes / ours.step.bytes).toFixed(0)}×`,
        ours.compactionEvents,
        ours.parent.events,
        ours.child,
      ])
    }
  } finally {
    await server.stop()
  }
  console.log('\nWorkflow history: one step (a model call and two tools), and one compaction\n')
  const header = [
    'context tokens',
    'events/step',
    'bytes/step',
    'to first',
    'whole transcript',
    'to ours',
    'below threshold',
    'compaction: parent',
    'with child',
  ]
  console.log(formatTable(header, rows))
  return problems
}

async function measureSession(address: string, context: number, problems: string[]) {
  const { session, client, close } = await runLongSession(address, context)
  try {
    const before = await historyOf(client, session.id)
    const step = costPerStep(before, 'sessionCallModel', MEASURED_STEPS)
    // No child was started while the context was below the threshold.
    const compactionEvents = before.filter(
      (event) => event.startChildWorkflowExecutionInitiatedEventAttributes != null,
    ).length
    const result = await session.compactNow()
    const after = await untilTaken(client, session.id)
    const parent = costOfChild(after)
    const childEvents = (await historyOf(client, `${session.id}/compact/${result?.compactionId}`)).length
    const child = parent.events + childEvents
    const check = (what: string, value: number, bound: number) => {
      if (value > bound)
        problems.push(`${what} at ${formatCount(context)} tokens: ${value}, allowed are ${bound}`)
    }
    check('events of a step', step.events, 18)
    check('bytes of a step', Math.round(step.bytes), 2_560)
    check('compaction events below the threshold', compactionEvents, 0)
    check('events of a compaction in the parent', parent.events, 9)
    check('events of a compaction in all', child, 35)
    return { step, parent, child, compactionEvents }
  } finally {
    await close()
  }
}

/** The client reads the outcome from the store, which may know it before the parent's history does. */
async function untilTaken(client: Client, workflowId: string) {
  const history = await poll(10_000, async () => {
    const events = await historyOf(client, workflowId)
    return costOfChild(events).events > 0 ? events : undefined
  })
  if (history === undefined) throw new Error('The parent has not taken the result of its compaction.')
  return history
}
