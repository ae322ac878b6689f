import { randomUUID } from 'node:crypto'
import type { Client } from '@temporalio/client'
import { type HistoryEvent, runHistory } from './history.ts'

/** Resets a workflow to the task that led to an event, as an operator does: that task is done again. */
export async function resetBefore(
  client: Client,
  workflowId: string,
  type: string,
  name?: string,
): Promise<void> {
  const { events } = await runHistory(client, workflowId)
  const at = events.findIndex((event) => event.type === type && (name === undefined || event.name === name))
  if (at < 0) throw new Error(`${workflowId} has no ${type} ${name ?? ''}`)
  await reset(client, workflowId, events.slice(0, at))
}

/** Resets to the newest workflow task that ended. */
export async function resetToLastTask(client: Client, workflowId: string): Promise<void> {
  await reset(client, workflowId, (await runHistory(client, workflowId)).events)
}

/** Resets to before the first message and drops all messages. */
export async function resetWithoutMessages(client: Client, workflowId: string): Promise<void> {
  const { events } = await runHistory(client, workflowId)
  const first = events.findIndex((event) => event.type === 'WORKFLOW_EXECUTION_SIGNALED')
  await reset(client, workflowId, events.slice(0, first), [SIGNALS])
}

/** `RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL` */
const SIGNALS = 1

async function reset(
  client: Client,
  workflowId: string,
  events: readonly HistoryEvent[],
  resetReapplyExcludeTypes: number[] = [],
): Promise<void> {
  const at = events.findLastIndex((event) => event.type === 'WORKFLOW_TASK_COMPLETED')
  const task = (await client.workflow.getHandle(workflowId).fetchHistory()).events?.[at]
  if (task?.eventId === undefined) throw new Error(`${workflowId} has completed no workflow task`)
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId },
    reason: 'test',
    workflowTaskFinishEventId: task.eventId,
    requestId: randomUUID(),
    resetReapplyExcludeTypes,
  })
}
