import { type ContentBlock, isThinking, isToolUse, type Message, text } from './content.ts'
import type { SurfaceNode } from './events.ts'
import { isProviderBlock, standingProviderBlocks } from './provider-calls.ts'
import { isResultBlock, pairTools, type ToolAnswer } from './tool-pairs.ts'
import { wellFormed } from './well-formed.ts'
import { isBlank, strayResult, wireCall, wireIds, wireResult } from './wire-calls.ts'

/** Stands where a surface would begin with the assistant: a request begins with the user. */
const OPENING = text('[What was said before this point is not part of this conversation.]')

/**
 * The messages of a surface, as the Anthropic API takes them: roles alternate, the first is the user's, every call is answered once and
 * directly after it with the results first, no block is empty, all Unicode is well-formed. Nodes in order, each once, whatever their
 * state: a call without a result gets the interrupted one, a result without its call becomes what the user says, a second result of one
 * call is left out. A surface that ends with the assistant gives messages that do so too. Never throws. Linear in the surface's size.
 *
 * A reply appended to a surface that has no open call does not change the messages before it, so that a provider's cache holds.
 */
export function deriveMessages(nodes: readonly SurfaceNode[]): Message[] {
  const calls = callsOnTheWire(nodes)
  const messages: { role: Message['role']; content: ContentBlock[] }[] = []
  const add = (role: Message['role'], content: readonly ContentBlock[]) => {
    if (content.length === 0) return
    if (messages.at(-1)?.role !== role) messages.push({ role, content: [] })
    messages.at(-1)?.content.push(...content)
  }
  for (const [at, node] of nodes.entries()) {
    if (node.type === 'assistant/message') {
      const reply = replyContent(node.data.content, calls)
      if (reply.length > 0 && messages.length === 0) add('user', [OPENING])
      add(
        'assistant',
        reply.map((block) => (isToolUse(block) ? wireCall(block, calls.idOf(block)) : block)),
      )
      add('user', resultsOf(reply, calls))
    } else if (node.type === 'user/message') {
      add(
        'user',
        node.data.content.filter((block) => !isResultBlock(block) && !isBlank(block)),
      )
    }
    add('user', calls.strayAt(at).flatMap(strayResult))
  }
  return wellFormed(messages)
}

interface WireCalls {
  idOf(call: ContentBlock): string
  answerOf(call: ContentBlock): ToolAnswer | undefined
  /** False for a block of the provider's own tools that would make it refuse the request. */
  mayStand(block: ContentBlock): boolean
  strayAt(node: number): readonly ToolAnswer[]
}

function callsOnTheWire(nodes: readonly SurfaceNode[]): WireCalls {
  const pairing = pairTools(nodes)
  const ids = wireIds(pairing)
  const answers = new Map([...pairing.answers].map(([call, answer]) => [call.block, answer]))
  const standing = standingProviderBlocks(nodes, pairing)
  const stray = new Map<number, ToolAnswer[]>()
  for (const orphan of pairing.orphans) {
    const others = stray.get(orphan.at)
    if (others === undefined) stray.set(orphan.at, [orphan])
    else others.push(orphan)
  }
  return {
    idOf: (call) => ids.get(call) ?? String(call['id']),
    answerOf: (call) => answers.get(call),
    mayStand: (block) => !isProviderBlock(block) || standing.has(block),
    strayAt: (node) => stray.get(node) ?? [],
  }
}

/** What of a reply may stand in a request. Reasoning that nothing follows belongs to a reply that was cut off. */
function replyContent(content: readonly ContentBlock[], calls: WireCalls): ContentBlock[] {
  const kept = content.filter((block) => !isBlank(block) && calls.mayStand(block))
  return kept.slice(0, kept.findLastIndex((block) => !isThinking(block)) + 1)
}

function resultsOf(reply: readonly ContentBlock[], calls: WireCalls): ContentBlock[] {
  const results = reply.filter(isToolUse).map((call) => wireResult(calls.idOf(call), calls.answerOf(call)))
  return [...results.map(({ result }) => result), ...results.flatMap(({ beside }) => beside)]
}
