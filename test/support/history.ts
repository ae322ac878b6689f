import type { Client } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'

// What a run costs in workflow history.

export interface HistoryEvent {
  readonly id: number
  /** Without its prefix: `ACTIVITY_TASK_SCHEDULED`. */
  readonly type: string
  /** The activity type, the child's workflow id or the signal that the event names. */
  readonly name: string | undefined
}

export interface RunHistory {
  readonly events: readonly HistoryEvent[]
  /** As the server counts it. */
  readonly bytes: number
}

interface JsonEvent {
  readonly eventId: string
  readonly eventType: string
  readonly activityTaskScheduledEventAttributes?: { readonly activityType: { readonly name: string } }
  readonly startChildWorkflowExecutionInitiatedEventAttributes?: { readonly workflowId: string }
  readonly workflowExecutionSignaledEventAttributes?: { readonly signalName: string }
}

/** Of the newest run, or of the named one. */
export async function runHistory(client: Client, workflowId: string, runId?: string): Promise<RunHistory> {
  const handle = client.workflow.getHandle(workflowId, runId)
  const [history, description] = await Promise.all([handle.fetchHistory(), handle.describe()])
  const { events } = JSON.parse(historyToJSON(history)) as { readonly events: readonly JsonEvent[] }
  return {
    events: events.map((event) => ({
      id: Number(event.eventId),
      type: event.eventType.replace('EVENT_TYPE_', ''),
      name:
        event.activityTaskScheduledEventAttributes?.activityType.name ??
        event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId ??
        event.workflowExecutionSignaledEventAttributes?.signalName,
    })),
    bytes: description.historySize ?? 0,
  }
}

/** How many events have this type, and this name when one is given. */
export const countEvents = ({ events }: RunHistory, type: string, name?: string): number =>
  events.filter((event) => event.type === type && (name === undefined || event.name === name)).length

/** The runs of a workflow id, oldest first. */
export async function runIds(client: Client, workflowId: string): Promise<string[]> {
  const runs: { runId: string; startTime: Date }[] = []
  for await (const { runId, startTime } of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    runs.push({ runId, startTime })
  }
  return runs.sort((a, b) => a.startTime.getTime() - b.startTime.getTime()).map(({ runId }) => runId)
}
