import type { ReplayPlan, ReplayPrompt } from '../../formats/replay-plan.ts'
import type { SessionStore } from '../../shared/ports/store.ts'
import type { Tool } from '../../shared/ports/tool.ts'
import { replayTools } from '../../worker/index.ts'

/** Request id of a recorded prompt, by its number. */
export const promptId = (index: number): string => `prompt-${index + 1}`

/**
 * The recorded tools. What somebody said while they ran is put into the inbox before the first of them answers, so that it enters at the same step
 * as it did when it was recorded.
 */
export function deliveringTools(plan: ReplayPlan, store: SessionStore): Tool[] {
  const during = promptsDuringCalls(plan)
  return replayTools(plan).map((tool) => ({
    ...tool,
    async run(input, context) {
      for (const { index, prompt } of during.get(context.callId) ?? []) {
        await store.putInbox({
          sessionId: context.sessionId,
          requestId: promptId(index),
          kind: 'prompt',
          body: prompt.message.content,
          delivery: 'next-step',
        })
      }
      return tool.run(input, context)
    },
  }))
}

/** By the id of each call of the reply that they came after. */
function promptsDuringCalls(plan: ReplayPlan): Map<string, { index: number; prompt: ReplayPrompt }[]> {
  const byCall = new Map<string, { index: number; prompt: ReplayPrompt }[]>()
  const numbered = plan.prompts.map((prompt, index) => ({ index, prompt }))
  for (const [reply, { content }] of plan.replies.entries()) {
    const during = numbered.filter(
      ({ prompt }) => prompt.delivery === 'next-step' && prompt.beforeReply === reply + 1,
    )
    if (during.length === 0) continue
    for (const block of content) if (typeof block['id'] === 'string') byCall.set(block['id'], during)
  }
  return byCall
}
