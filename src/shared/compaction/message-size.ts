import type { SummarizeInput } from '../ports/summarizer.ts'
import type { Message } from '../session/content.ts'
import type { RequestHead } from './summary-run.ts'

type Prices = Pick<SummarizeInput, 'countTokens' | 'priceContent'>

export const messagesTokens = (messages: readonly Message[], { priceContent }: Prices): number =>
  messages.reduce((sum, { content }) => sum + priceContent(content), 0)

/** What providers add to a request that has tools. */
const TOOLS_TOKENS = 350

/** Tokens of the part of a request that stands before its messages. */
export const headTokens = ({ system, tools }: RequestHead, { countTokens }: Prices): number =>
  countTokens(system) + (tools.length === 0 ? 0 : countTokens(JSON.stringify(tools)) + TOOLS_TOKENS)
