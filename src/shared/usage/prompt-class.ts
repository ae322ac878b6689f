import type { Usage } from '../session/events.ts'

/** With some models, requests whose prompt has more tokens than this have other prices. */
export const LONG_PROMPTS = [100_000, 200_000] as const
export type PromptClass = 0 | (typeof LONG_PROMPTS)[number]

/** The largest of the limits that the prompts (input and cache) are above, or 0. Of `calls` together, by their mean. */
export function promptClass(
  { inputTokens, cacheReadTokens, cacheWriteTokens }: Usage,
  calls = 1,
): PromptClass {
  const prompt = (inputTokens + cacheReadTokens + cacheWriteTokens) / calls
  return LONG_PROMPTS.findLast((limit) => prompt > limit) ?? 0
}
