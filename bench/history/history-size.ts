import type { Client } from '@temporalio/client'
import type { temporal } from '@temporalio/proto'
import proto from '@temporalio/proto'

type HistoryEvent = temporal.api.history.v1.IHistoryEvent

export interface Cost {
  readonly events: number
  readonly bytes: number
}

export async function historyOf(client: Client, workflowId: string): Promise<readonly HistoryEvent[]> {
  return (await client.workflow.getHandle(workflowId).fetchHistory()).events ?? []
}

function costOf(events: readonly HistoryEvent[]): Cost {
  const { HistoryEvent } = proto.temporal.api.history.v1
  const encode = (event: HistoryEvent) => HistoryEvent.encode(event).finish().length
  return { events: events.length, bytes: events.reduce((sum, event) => sum + encode(event), 0) }
}

/** Mean cost of the last `count` steps that began with this activity: from one of them being scheduled to the next. */
export function costPerStep(events: readonly HistoryEvent[], activity: string, count: number): Cost {
  const starts = events.flatMap((event, index) =>
    event.activityTaskScheduledEventAttributes?.activityType?.name === activity ? [index] : [],
  )
  const measured = starts.slice(-count - 1)
  const [first, last] = [measured[0] ?? 0, measured.at(-1) ?? 0]
  const { events: number, bytes } = costOf(events.slice(first, last))
  return { events: number / count, bytes: bytes / count }
}

/** Events of the parent that belong to its newest child: from its start to the end of the workflow task that took its result; none before that. */
export function costOfChild(events: readonly HistoryEvent[]): Cost {
  const first = events.findLastIndex(
    (event) => event.startChildWorkflowExecutionInitiatedEventAttributes != null,
  )
  const result = events.findLastIndex((event) => event.childWorkflowExecutionCompletedEventAttributes != null)
  const taken = events.findIndex(
    (event, index) => index > result && event.workflowTaskCompletedEventAttributes != null,
  )
  return result < first ? costOf([]) : costOf(events.slice(first, taken + 1))
}
