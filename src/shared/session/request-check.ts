import type { ContentBlock, Message } from './content.ts'
import type { SurfaceNode } from './events.ts'
import { contentProblems, wellFormedProblems } from './request-content.ts'

export interface RequestExpectation {
  /** The surface that the request was built of: its messages must stand in it once, in order, the unanswered ones last (O5, O6). */
  readonly surface?: readonly SurfaceNode[]
  /** Estimate and reply must fit the window (O2). */
  readonly window?: {
    readonly contextTokens: number
    readonly maxTokens: number
    readonly contextWindow: number
  }
  /** UTF-8 bytes of the messages' JSON (O2). Default 32 MB, the limit of the Anthropic API. */
  readonly maxBodyBytes?: number
}

const MAX_BODY_BYTES = 32_000_000

/**
 * Checks a request by itself, sharing no code with what builds it: the rules of the Anthropic API (O1), the window (O2), that every message
 * stands in it once and in order (O5), that unanswered input is verbatim and last (O6), and well-formed Unicode (O14).
 *
 * @returns one sentence per problem, each beginning with its invariant; empty when the request is valid
 */
export function requestProblems(messages: readonly Message[], expected: RequestExpectation = {}): string[] {
  return [
    ...orderProblems(messages),
    ...messages.flatMap((message, index) => contentProblems(message, index)),
    ...pairProblems(messages),
    ...sizeProblems(messages, expected),
    ...(expected.surface === undefined ? [] : surfaceProblems(messages, expected.surface)),
    ...wellFormedProblems(messages),
  ]
}

function orderProblems(messages: readonly Message[]): string[] {
  const problems: string[] = []
  if (messages.length === 0) problems.push('O1: the request has no message')
  if (messages.length > 0 && messages[0]?.role !== 'user')
    problems.push("O1: the first message is not the user's")
  if (messages.length > 0 && messages.at(-1)?.role !== 'user')
    problems.push("O1: the last message is not the user's")
  for (const [index, message] of messages.entries()) {
    if (index > 0 && messages[index - 1]?.role === message.role)
      problems.push(`O1: messages ${index - 1} and ${index} are both the ${message.role}'s`)
  }
  return problems
}

function pairProblems(messages: readonly Message[]): string[] {
  const problems: string[] = []
  const used = new Set<string>()
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]
    if (message?.role !== 'assistant') {
      if (index === 0)
        problems.push(
          ...idsOf(message, 'tool_result', 'tool_use_id').map(
            (id) => `O1: message 0 holds the result of ${id}, which has no call`,
          ),
        )
      continue
    }
    const calls = idsOf(message, 'tool_use', 'id')
    for (const id of calls) {
      if (used.has(id)) problems.push(`O1: call id ${id} of message ${index} is not unique`)
      used.add(id)
    }
    const next = messages[index + 1]
    const results = idsOf(next, 'tool_result', 'tool_use_id')
    for (const id of calls) {
      const count = results.filter((result) => result === id).length
      if (count !== 1)
        problems.push(`O1: call ${id} of message ${index} has ${count} results in the next message`)
    }
    for (const id of results)
      if (!calls.includes(id))
        problems.push(
          `O1: message ${index + 1} holds the result of ${id}, which message ${index} did not call`,
        )
    const firstOther = next?.content.findIndex((block) => block.type !== 'tool_result') ?? -1
    const lastResult = next?.content.findLastIndex((block) => block.type === 'tool_result') ?? -1
    if (firstOther !== -1 && firstOther < lastResult)
      problems.push(`O1: in message ${index + 1} a result stands after another block`)
  }
  return problems
}

const idsOf = (message: Message | undefined, type: string, field: string): string[] =>
  (message?.content ?? []).filter((block) => block.type === type).map((block) => String(block[field]))

function sizeProblems(
  messages: readonly Message[],
  { window, maxBodyBytes = MAX_BODY_BYTES }: RequestExpectation,
): string[] {
  const problems: string[] = []
  if (window !== undefined && window.contextTokens + window.maxTokens > window.contextWindow) {
    problems.push(
      `O2: ${window.contextTokens} tokens and ${window.maxTokens} for the reply exceed the window of ${window.contextWindow}`,
    )
  }
  const bytes = new TextEncoder().encode(JSON.stringify(messages)).length
  if (bytes > maxBodyBytes) problems.push(`O2: the messages have ${bytes} bytes, ${maxBodyBytes} are allowed`)
  return problems
}

/** What people and code said to the model, block by block: all user content that is no tool result. */
function surfaceProblems(messages: readonly Message[], surface: readonly SurfaceNode[]): string[] {
  const said = messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) => content.filter(({ type }) => type !== 'tool_result'))
    .map(same)
  const expected = surface.flatMap((node) =>
    node.type === 'user/message' ? saidBlocks(node.data.content) : [],
  )
  const problems: string[] = []
  let at = 0
  for (const block of expected) {
    const found = said.indexOf(block, at)
    if (found === -1) problems.push(`O5: missing or out of order: ${block.slice(0, 120)}`)
    else at = found + 1
  }
  for (const block of new Set(expected)) {
    const [wanted, found] = [expected, said].map((list) => list.filter((other) => other === block).length)
    if (found !== undefined && wanted !== undefined && found > wanted)
      problems.push(`O5: ${found} times instead of ${wanted}: ${block.slice(0, 120)}`)
  }
  const lastReply = surface.findLastIndex((node) => node.type === 'assistant/message')
  const open = surface
    .slice(lastReply + 1)
    .flatMap((node) => (node.type === 'user/message' ? saidBlocks(node.data.content) : []))
  const end = (messages.at(-1)?.content ?? []).slice(-open.length).map(same)
  if (open.length > 0 && open.some((block, index) => end[index] !== block))
    problems.push('O6: the unanswered input is not verbatim at the end')
  return problems
}

const saidBlocks = (content: readonly ContentBlock[]): string[] =>
  content
    .filter(
      (block) =>
        block.type !== 'tool_result' && !(block.type === 'text' && String(block['text']).trim() === ''),
    )
    .map(same)

const same = (block: ContentBlock): string => JSON.stringify(block)
