import { blockProblems, isObject, type Json } from './valid-blocks.ts'

// The order of messages: roles, calls and their results, reasoning.

interface Said {
  readonly role: 'user' | 'assistant'
  readonly blocks: readonly Json[]
}

export function messageProblems(messages: unknown, future: readonly string[]): string[] {
  if (!Array.isArray(messages) || messages.length === 0) return ['messages: at least one message is required']
  const problems: string[] = []
  const said: Said[] = []
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`
    if (!isObject(message)) return [`${at}: no object`]
    const { role, content, ...rest } = message
    for (const key of Object.keys(rest)) problems.push(`${at}.${key}: Extra inputs are not permitted`)
    if (role !== 'user' && role !== 'assistant') return [...problems, `${at}: role ${JSON.stringify(role)}`]
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    if (!Array.isArray(blocks) || blocks.length === 0)
      return [...problems, `${at}: content must have at least one block`]
    for (const [place, block] of blocks.entries())
      problems.push(...blockProblems(block, role, `${at}.content.${place}`, future))
    said.push({ role, blocks: blocks.filter(isObject) })
  }
  return [
    ...problems,
    ...orderProblems(said),
    ...pairProblems(said),
    ...providerPairProblems(said),
    ...reasoningProblems(said),
  ]
}

const ofType = ({ blocks }: Said, ...types: string[]) =>
  blocks.filter(({ type }) => types.includes(String(type)))

function orderProblems(said: readonly Said[]): string[] {
  const problems: string[] = []
  if (said[0]?.role !== 'user') problems.push('messages.0: the first message must be from the user')
  for (const [index, { role }] of said.entries())
    if (index > 0 && said[index - 1]?.role === role)
      problems.push(`messages.${index}: roles must alternate, two of the ${role}`)
  const last = said.at(-1)
  if (last?.role !== 'assistant') return problems
  // A paused turn goes on from the end of the reply; anything else would be a prefill, which newer models refuse.
  if (!last.blocks.some(({ type }) => type === 'server_tool_use' || String(type).endsWith('_tool_result')))
    problems.push('messages: the conversation must end with a user message, prefill is not supported')
  return problems
}

function pairProblems(said: readonly Said[]): string[] {
  const seen = new Set<unknown>()
  const problems: string[] = []
  for (const [index, message] of said.entries()) {
    const calls = ofType(message, 'tool_use').map(({ id }) => id)
    for (const id of calls) {
      if (seen.has(id)) problems.push(`messages.${index}: tool_use ids must be unique, ${id} is used twice`)
      seen.add(id)
    }
    const next = said[index + 1]
    const results = next === undefined ? [] : ofType(next, 'tool_result').map((block) => block['tool_use_id'])
    for (const id of calls) {
      const found = results.filter((result) => result === id).length
      if (found !== 1)
        problems.push(`messages.${index}: tool_use ${id} has ${found} tool_result blocks in the next message`)
    }
    const before = index === 0 ? [] : ofType(said[index - 1] as Said, 'tool_use').map(({ id }) => id)
    for (const block of ofType(message, 'tool_result'))
      if (!before.includes(block['tool_use_id']))
        problems.push(`messages.${index}: unexpected tool_use_id ${block['tool_use_id']} in tool_result`)
    const isResult = message.blocks.map(({ type }) => type === 'tool_result')
    if (isResult.lastIndexOf(true) >= isResult.filter(Boolean).length)
      problems.push(`messages.${index}: tool_result blocks must come first`)
  }
  return problems
}

function providerPairProblems(said: readonly Said[]): string[] {
  const problems: string[] = []
  for (const [index, message] of said.entries()) {
    if (message.role !== 'assistant') continue
    const results = message.blocks.filter(
      ({ type }) => type !== 'tool_result' && String(type).endsWith('_tool_result'),
    )
    const answered = results.map((block) => block['tool_use_id'])
    const calls = ofType(message, 'server_tool_use').map(({ id }) => id)
    const isNewest = index >= said.length - 2
    for (const id of calls)
      if (!answered.includes(id) && !isNewest)
        problems.push(`messages.${index}: server tool use ${id} has no result`)
    for (const id of answered)
      if (!calls.includes(id) && !earlierCalls(said, index).includes(id))
        problems.push(`messages.${index}: result of ${id}, which nothing called`)
  }
  return problems
}

/** A result may come one reply later, when only results of the client's tools stood between. */
const earlierCalls = (said: readonly Said[], index: number) =>
  said
    .slice(Math.max(0, index - 2), index)
    .flatMap((message) => ofType(message, 'server_tool_use').map(({ id }) => id))

const REASONING = ['thinking', 'redacted_thinking']

function reasoningProblems(said: readonly Said[]): string[] {
  return said.flatMap(({ role, blocks }, index) =>
    role === 'assistant' && REASONING.includes(String(blocks.at(-1)?.['type']))
      ? [`messages.${index}: the final block in an assistant message cannot be thinking`]
      : [],
  )
}
