import { proxyActivities } from '@temporalio/workflow'
import type { Message } from 'durable-compaction/core'
import { compactionHooks } from 'durable-compaction/workflow'
import type { arrayActivities } from './activities.ts'
import { REQUEST } from './clerk.ts'

const { askModel, runTool } = proxyActivities<typeof arrayActivities>({ startToCloseTimeout: '1m' })

/** An agent that keeps its messages in an array: three lines more than without compaction. */
export async function arrayAgent(sessionId: string, question: string): Promise<string> {
  const hooks = compactionHooks({ sessionId, request: REQUEST, policy: { thresholdTokens: 14_000 } })
  const turn = 1
  let messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: question }] }]
  let usage: Awaited<ReturnType<typeof askModel>>['usage'] | undefined
  for (let step = 1; ; step++) {
    messages = (await hooks.preStep({ turn, step, messages, usage })).messages
    const reply = await askOrRecover(step)
    usage = reply.usage
    messages = [...messages, reply.message]
    const calls = reply.message.content.filter((block) => block.type === 'tool_use')
    if (calls.length === 0) break
    for (const { id, input } of calls) messages = [...messages, await runTool({ id: String(id), input })]
  }
  await hooks.endTurn({ turn, messages, usage })
  return hooks
    .history()
    .map(({ compactionId, outcome }) => `${compactionId} ${outcome}`)
    .join(', ')

  async function askOrRecover(step: number): ReturnType<typeof askModel> {
    for (;;) {
      try {
        return await askModel(step, messages)
      } catch (error) {
        const recovered = await hooks.requestError(error, { turn, step, messages })
        if (!recovered.retry) throw error
        messages = recovered.messages
      }
    }
  }
}
