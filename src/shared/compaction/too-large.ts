import type { Header, SurfaceNode } from '../session/events.ts'
import { newestStart } from './tail.ts'

export interface TooLarge {
  readonly header: Pick<Header, 'provider' | 'model' | 'policy'>
  readonly nodes: readonly SurfaceNode[]
  /** The open turn. */
  readonly turn: number
  /** Of the next request, in the provider's tokens, estimated. */
  readonly requestTokens: number
  /** Prices by our counter. */
  readonly systemTokens: number
  readonly toolsTokens: number
  /** True tokens per token of our counter. */
  readonly ratio: number
}

/** Why a request was not sent, with the size of each part of it that no compaction shrinks. */
export function tooLargeSentence(input: TooLarge): string {
  const { header, nodes, requestTokens } = input
  const { contextWindow, replyMaxTokens } = header.policy
  const tail = nodes.slice(newestStart(nodes, input.turn))
  const about = (tokens: number) => Math.ceil(input.ratio * tokens)
  const tailTokens = about(tail.reduce((sum, { tokens }) => sum + tokens, 0))
  const parts = [
    `system prompt ${about(input.systemTokens)}`,
    `tools ${about(input.toolsTokens)}`,
    `the newest messages${tail[0] === undefined ? '' : ` from #${tail[0].seq} on`} ${tailTokens}`,
    `the reply ${replyMaxTokens} (replyMaxTokens)`,
  ]
  return (
    `The next request needs about ${requestTokens} tokens and ${replyMaxTokens} for the reply; the window of ` +
    `${header.provider}/${header.model} is ${contextWindow}. No compaction shrinks ${parts.join(', ')}: ` +
    'shorten one of them, or use a model with a larger window.'
  )
}
