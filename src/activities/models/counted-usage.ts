import type { ModelRequest } from '../../shared/ports/model.ts'
import type { ContentBlock } from '../../shared/session/content.ts'
import type { ToolDefinition, Usage } from '../../shared/session/events.ts'
import { priceContent, priceText, priceTools } from '../../shared/tokens/price.ts'

/** Tokens by our counter. */
export interface Pricing {
  readonly text: (text: string) => number
  readonly tools: (tools: readonly ToolDefinition[]) => number
  readonly content: (content: readonly ContentBlock[]) => number
}

export const OUR_PRICING: Pricing = { text: priceText, tools: priceTools, content: priceContent }

/** What a request costs as input: system, tools and messages as they are sent. */
export function inputTokens({ system, tools, messages }: ModelRequest, pricing: Pricing): number {
  const head = pricing.text(system) + pricing.tools(tools)
  return messages.reduce((sum, message) => sum + pricing.content(message.content), head)
}

/** Usage of a model that is none: our count of the actual request and answer, nothing cached. */
export function countedUsage(input: number, answer: readonly ContentBlock[], pricing: Pricing): Usage {
  return {
    inputTokens: input,
    outputTokens: pricing.content(answer),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  }
}
