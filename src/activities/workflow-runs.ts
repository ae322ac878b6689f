import { type Client, WorkflowNotFoundError } from '@temporalio/client'
import type { WorkflowRun, WorkflowRuns } from './deps.ts'

/** Asks the server of `client` about workflows. Cost: one RPC a question. */
export function temporalRuns(client: Client): WorkflowRuns {
  return {
    async describe(workflowId, runId): Promise<WorkflowRun | null> {
      try {
        const description = await client.workflow.getHandle(workflowId, runId).describe()
        const firstRunId = description.raw.workflowExecutionInfo?.firstRunId
        return {
          runId: description.runId,
          firstRunId:
            firstRunId === undefined || firstRunId === null || firstRunId === ''
              ? description.runId
              : firstRunId,
          running: description.status.name === 'RUNNING',
        }
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return null
        throw error
      }
    },
  }
}
