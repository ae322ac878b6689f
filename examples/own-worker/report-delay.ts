import { getExternalWorkflowHandle, proxyActivities } from '@temporalio/workflow'
import { promptSignal } from 'durable-compaction/workflow'
import type { orderActivities } from './activities.ts'

const { ordersOf } = proxyActivities<typeof orderActivities>({ startToCloseTimeout: '1m' })

/** A workflow of one's own that speaks to a session. A prompt sent by signal needs a request id, by which its answer is found. */
export async function reportDelay(sessionId: string, customer: string): Promise<string> {
  const orders = await ordersOf(customer)
  const requestId = `delay-${customer}`
  const content = `These orders are late, tell why: ${orders.map((order) => `#${order}`).join(', ')}`
  await getExternalWorkflowHandle(sessionId).signal(promptSignal, { requestId, content })
  return requestId
}
