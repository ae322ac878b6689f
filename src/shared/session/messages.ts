import { asUserBlock, type ContentBlock, isThinking, type Message, text } from './content.ts'
import type { SurfaceNode } from './events.ts'
import { isProviderBlock, standingProviderBlocks } from './provider-calls.ts'
import { isResultBlock, pairTools, type ToolAnswer } from './tool-pairs.ts'
import { wellFormed } from './well-formed.ts'
import { isBlank, strayResult, type WireResult, wireCall, wireIds, wireResult } from './wire-calls.ts'

/** Stands where a surface would begin with the assistant: a request begins with the user. */
const OPENING = text('[What was said before this point is not part of this conversation.]')

/**
 * The messages of a surface, as the Anthropic API takes them: roles alternate, the first is the user's, every call is answered once and
 * directly after it with the results first, no block is empty, the
 * user's messages and the results hold blocks that the API takes there and others as their JSON, all Unicode is well-formed. Nodes in order, each once, whatever their
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
      const { reply, results } = wireReply(node.data.content, at, calls)
      if (reply.length > 0 && messages.length === 0) add('user', [OPENING])
      add('assistant', reply)
      add('user', results)
    } else if (node.type === 'user/message') {
      const said = node.data.content.filter((block) => !isResultBlock(block) && !isBlank(block))
      add('user', said.map(asUserBlock))
    }
    add('user', calls.strayAt(at).flatMap(strayResult))
  }
  return wellFormed(messages)
}

interface WireCalls {
  /** The result of the call at an index of a node, with the id that both have in the request; undefined when no call of ours is there. */
  resultAt(
    at: number,
    place: number,
  ): { readonly id: string; readonly answer: ToolAnswer | undefined } | undefined
  /** False for a block of the provider's own tools that would make it refuse the request. */
  mayStand(block: ContentBlock, at: number, place: number): boolean
  strayAt(at: number): readonly ToolAnswer[]
}

function callsOnTheWire(nodes: readonly SurfaceNode[]): WireCalls {
  const pairing = pairTools(nodes)
  const standing = standingProviderBlocks(nodes, pairing)
  const calls = new Map(
    [...wireIds(pairing)].map(([call, id]) => [
      `${call.at}.${call.place}`,
      { id, answer: pairing.answers.get(call) },
    ]),
  )
  const stray = new Map<number, ToolAnswer[]>()
  for (const orphan of pairing.orphans) {
    const others = stray.get(orphan.at)
    if (others === undefined) stray.set(orphan.at, [orphan])
    else others.push(orphan)
  }
  return {
    resultAt: (at, place) => calls.get(`${at}.${place}`),
    mayStand: (block, at, place) => !isProviderBlock(block) || standing(at, place),
    strayAt: (at) => stray.get(at) ?? [],
  }
}

/** What of a reply may stand in a request, and the results of its calls. Reasoning that nothing follows belongs to a reply that was cut off. */
function wireReply(
  content: readonly ContentBlock[],
  at: number,
  calls: WireCalls,
): { reply: ContentBlock[]; results: ContentBlock[] } {
  const reply: ContentBlock[] = []
  const results: WireResult[] = []
  for (const [place, block] of content.entries()) {
    if (isBlank(block) || !calls.mayStand(block, at, place)) continue
    const call = calls.resultAt(at, place)
    reply.push(call === undefined ? block : wireCall(block, call.id))
    if (call !== undefined) results.push(wireResult(call.id, call.answer))
  }
  return {
    reply: reply.slice(0, reply.findLastIndex((block) => !isThinking(block)) + 1),
    results: [...results.map(({ result }) => result), ...results.flatMap(({ beside }) => beside)],
  }
}
