import type { ReplayPlan } from '../../formats/replay-plan.ts'
import { priceContent, priceOverhead } from '../../shared/tokens/price.ts'

/** Its usage is our own count. */
export const REPLAY_MODEL = 'replay/recorded'

/** Windows that a replay tries, smallest first: small, so that an ordinary session compacts several times. */
export const REPLAY_WINDOWS = [16_000, 24_000, 32_000, 64_000] as const
export type ReplayWindow = (typeof REPLAY_WINDOWS)[number]

/** Share of a window that one result keeps at intake, and that the reply reserves: the policy's defaults. */
const RESULT_SHARE = 0.15
const REPLY_SHARE = 0.25
const RESERVE_TOKENS = 2_048

/** The smallest window in which every recorded message fits beside system and tools (results as cut at intake); the largest when none does. */
export function replayWindow(plan: ReplayPlan): ReplayWindow {
  const tools = plan.tools.map(({ name, description, input_schema }) => ({
    name,
    description,
    inputSchema: input_schema,
  }))
  const overhead = priceOverhead({ system: plan.system, tools })
  const messages = [
    ...plan.prompts.map((prompt) => prompt.message.content),
    ...plan.replies.map((reply) => reply.content),
  ].map((content) => priceContent(content))
  const results = [...plan.results.values()].map((result) => priceContent(result.content))
  const largest = Math.max(0, ...messages)
  const largestResult = Math.max(0, ...results)
  const fits = (window: number) => {
    const message = Math.max(largest, Math.min(largestResult, RESULT_SHARE * window))
    return overhead + message <= window * (1 - REPLY_SHARE) - RESERVE_TOKENS
  }
  return REPLAY_WINDOWS.find(fits) ?? REPLAY_WINDOWS[REPLAY_WINDOWS.length - 1] ?? 64_000
}
