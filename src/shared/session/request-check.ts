import type { ContentBlock, Message } from './content.ts'
import type { SurfaceNode } from './events.ts'
import { contentProblems, providerPairProblems, wellFormedProblems } from './request-content.ts'

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
    ...providerPairProblems(messages),
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
  const used = new Set<string>()
  return messages.flatMap((message, index) => {
    if (message.role === 'user') return index === 0 ? strayResults(message, index, []) : []
    const calls = idsOf(message, 'tool_use', 'id')
    const repeated = calls.filter((id) => used.has(id) || !used.add(id))
    const next = messages[index + 1]
    const results = idsOf(next, 'tool_result', 'tool_use_id')
    const unpaired = calls.filter(
      (id) => results.indexOf(id) === -1 || results.indexOf(id) !== results.lastIndexOf(id),
    )
    return [
      ...repeated.map((id) => `O1: call id ${id} of message ${index} is not unique`),
      ...unpaired.map(
        (id) => `O1: call ${id} of message ${index} has not exactly one result in the next message`,
      ),
      ...strayResults(next, index + 1, calls),
      ...(resultsStandFirst(next) ? [] : [`O1: in message ${index + 1} a result stands after another block`]),
    ]
  })
}

function strayResults(message: Message | undefined, index: number, calls: readonly string[]): string[] {
  const stray = idsOf(message, 'tool_result', 'tool_use_id').filter((id) => !calls.includes(id))
  return stray.map(
    (id) => `O1: message ${index} holds the result of ${id}, which the message before it did not call`,
  )
}

function resultsStandFirst(message: Message | undefined): boolean {
  const types = message?.content.map(({ type }) => type === 'tool_result') ?? []
  return types.lastIndexOf(true) < types.filter(Boolean).length
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
  const said = messages.flatMap(({ role, content }) => (role === 'user' ? saidBlocks(content) : []))
  const expected = surface.flatMap(saidIn)
  const problems: string[] = []
  let at = 0
  for (const block of expected) {
    const found = said.indexOf(block, at)
    if (found === -1) problems.push(`O5: missing or out of order: ${block.slice(0, 120)}`)
    else at = found + 1
  }
  const wanted = countOf(expected)
  for (const [block, count] of countOf(said)) {
    const most = wanted.get(block)
    if (most !== undefined && count > most)
      problems.push(`O5: ${count} times instead of ${most}: ${block.slice(0, 120)}`)
  }
  const lastReply = surface.findLastIndex((node) => node.type === 'assistant/message')
  const open = surface.slice(lastReply + 1).flatMap(saidIn)
  const end = saidBlocks(messages.at(-1)?.content ?? [])
  if (open.some((block, index) => end[end.length - open.length + index] !== block)) {
    problems.push('O6: the unanswered input is not verbatim at the end')
  }
  return problems
}

const saidIn = (node: SurfaceNode): string[] =>
  node.type === 'user/message' ? saidBlocks(node.data.content.map(asShown)) : []

/** What no request can hold in a message of the user stands there as its JSON. */
const asShown = (block: ContentBlock): ContentBlock =>
  /^(text|image|document|search_result|tool_result)$/.test(block.type)
    ? block
    : { type: 'text', text: JSON.stringify(block) }

const saidBlocks = (content: readonly ContentBlock[]): string[] =>
  content
    .filter(
      (block) =>
        block.type !== 'tool_result' && !(block.type === 'text' && !/\S/.test(String(block['text']))),
    )
    .map((block) => JSON.stringify(block))

function countOf(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}
