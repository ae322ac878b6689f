import type { Client } from '@temporalio/client'

/** Sends bytes that no SDK would. */
export const signalRaw = (client: Client, workflowId: string, signalName: string, data: string) =>
  client.workflowService.signalWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId },
    signalName,
    input: { payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(data) }] },
  })
