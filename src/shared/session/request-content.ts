import type { ContentBlock, Message } from './content.ts'

/** Rules of the Anthropic API for the blocks of one message. Part of the request check, which shares no code with what it checks. */
export function contentProblems(message: Message, index: number): string[] {
  const problems: string[] = []
  if (message.content.length === 0) problems.push(`O1: message ${index} is empty`)
  for (const [place, block] of message.content.entries()) {
    const where = `O1: block ${place} of message ${index}`
    problems.push(...blockProblems(block, message.role).map((problem) => `${where} ${problem}`))
  }
  const last = message.content.at(-1)?.type
  if (message.role === 'assistant' && (last === 'thinking' || last === 'redacted_thinking')) {
    problems.push(`O1: message ${index} ends with reasoning`)
  }
  return problems
}

/** Calls of the provider's own tools: answered in the same reply, or in a later one with only results of our tools between. */
export function providerPairProblems(messages: readonly Message[]): string[] {
  const open = new Set<unknown>()
  return messages.flatMap(({ role, content }, index) => {
    const others = content.filter(({ type }) => type !== 'tool_result')
    if (role === 'user') {
      const dead = others.length > 0 ? [...open] : []
      if (others.length > 0) open.clear()
      return dead.map(
        (id) => `O1: message ${index} follows call ${String(id)} of the provider, which has no result`,
      )
    }
    return others.flatMap((block) => {
      if (block.type.endsWith('_tool_use')) open.add(block['id'])
      if (!block.type.endsWith('_tool_result') || open.delete(block['tool_use_id'])) return []
      return [
        `O1: message ${index} answers ${String(block['tool_use_id'])}, which no call of the provider asks for`,
      ]
    })
  })
}

function blockProblems(block: ContentBlock, role: Message['role']): string[] {
  switch (block.type) {
    case 'text':
      return typeof block['text'] === 'string' && /\S/.test(block['text']) ? [] : ['is a blank text']
    case 'tool_use':
      return callProblems(block, role)
    case 'tool_result':
      return role === 'user' ? resultProblems(block) : ['is a tool result of the assistant']
    case 'thinking':
      return role === 'assistant' && block['signature'] ? [] : ['is reasoning without a signature']
    case 'compaction':
      return block['content'] ? [] : ['is an empty compaction']
    default:
      return role === 'assistant' || /^(image|document|search_result)$/.test(block.type)
        ? []
        : [`has the type ${block.type}, which the API refuses there`]
  }
}

function callProblems(block: ContentBlock, role: Message['role']): string[] {
  const { id, name, input } = block
  const problems: string[] = []
  if (role !== 'assistant') problems.push('is a call of the user')
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(String(id)))
    problems.push(`has the id ${String(id)}, which the API refuses`)
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(String(name)))
    problems.push(`calls ${JSON.stringify(name)}, which the API refuses as a name`)
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    problems.push('has an input that is no object')
  return problems
}

function resultProblems(block: ContentBlock): string[] {
  const { content, is_error: isError } = block
  if (typeof content === 'string') return content.trim() === '' ? ['is a blank result'] : []
  if (!Array.isArray(content) || content.length === 0) return ['is an empty result']
  const inner = content as ContentBlock[]
  const blank = inner.some((part) => part.type === 'text' && !/\S/.test(String(part['text'])))
  const mixed = isError === true && inner.some((part) => part.type !== 'text')
  return [
    ...(blank ? ['holds a blank text'] : []),
    ...(mixed ? ['is an error that holds more than text'] : []),
  ]
}

/** Strings, keys included, that no UTF-8 can express. */
export function wellFormedProblems(messages: readonly Message[]): string[] {
  return messages.flatMap((message, index) =>
    hasLoneSurrogate(message) ? [`O14: message ${index} holds a lone surrogate`] : [],
  )
}

function hasLoneSurrogate(value: unknown): boolean {
  if (typeof value === 'string')
    return /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, part]) => hasLoneSurrogate(key) || hasLoneSurrogate(part))
}
