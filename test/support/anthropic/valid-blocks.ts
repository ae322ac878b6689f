// The content blocks that the Messages API takes in a request, by its reference of 2026-10-21, written down independently of src.

export type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

interface Shape {
  readonly roles: readonly ('user' | 'assistant')[]
  readonly keys: readonly string[]
  readonly problem?: (block: Json, future: readonly string[]) => string | undefined
}

const NAME = /^[A-Za-z0-9_-]{1,128}$/
const ID = /^[A-Za-z0-9_-]+$/
const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
const isBase64 = (data: string) => data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)

const filled = (block: Json, ...names: string[]) => {
  const missing = names.find((name) => typeof block[name] !== 'string' || block[name] === '')
  return missing === undefined ? undefined : `${missing} is no text of at least one character`
}

const serverResult: Shape = {
  roles: ['assistant'],
  keys: ['tool_use_id', 'content', 'caller', 'is_error'],
  problem: (block) => filled(block, 'tool_use_id'),
}

const SHAPES: Readonly<Record<string, Shape>> = {
  text: {
    roles: ['user', 'assistant'],
    keys: ['text', 'citations'],
    problem: ({ text }) =>
      typeof text === 'string' && /\S/.test(text) ? undefined : 'text must contain more than whitespace',
  },
  image: {
    roles: ['user'],
    keys: ['source', 'transformations'],
    problem: (block) => sourceProblem(block, IMAGE_TYPES),
  },
  document: {
    roles: ['user'],
    keys: ['source', 'title', 'context', 'citations'],
    problem: (block) => sourceProblem(block, ['application/pdf', 'text/plain']),
  },
  search_result: { roles: ['user'], keys: ['source', 'title', 'content', 'citations'] },
  container_upload: { roles: ['user', 'assistant'], keys: ['file_id'] },
  tool_result: {
    roles: ['user'],
    keys: ['tool_use_id', 'content', 'is_error', 'toolset_name'],
    problem: (block, future) => filled(block, 'tool_use_id') ?? resultProblem(block, future),
  },
  thinking: {
    roles: ['assistant'],
    keys: ['thinking', 'signature'],
    problem: (block) =>
      typeof block['thinking'] === 'string' ? filled(block, 'signature') : 'thinking is no text',
  },
  redacted_thinking: { roles: ['assistant'], keys: ['data'], problem: (block) => filled(block, 'data') },
  tool_use: {
    roles: ['assistant'],
    keys: ['id', 'name', 'input', 'caller', 'toolset_name'],
    problem: ({ id, name, input }) => {
      if (typeof id !== 'string' || !ID.test(id)) return `id ${JSON.stringify(id)} is not of ${ID}`
      if (typeof name !== 'string' || !NAME.test(name))
        return `name ${JSON.stringify(name)} is not of ${NAME}`
      return isObject(input) ? undefined : 'input is no object'
    },
  },
  server_tool_use: {
    roles: ['assistant'],
    keys: ['id', 'name', 'input', 'caller'],
    problem: ({ id, input }) =>
      typeof id === 'string' && id.startsWith('srvtoolu_') && isObject(input)
        ? undefined
        : 'id or input is wrong',
  },
  web_search_tool_result: serverResult,
  web_fetch_tool_result: serverResult,
  code_execution_tool_result: serverResult,
  bash_code_execution_tool_result: serverResult,
  text_editor_code_execution_tool_result: serverResult,
  tool_search_tool_result: serverResult,
}

const UNMARKED = new Set(['thinking', 'redacted_thinking'])

/** @param future types and fields of blocks that the server of a test takes beyond those that are known */
export function blockProblems(
  block: unknown,
  role: 'user' | 'assistant',
  at: string,
  future: readonly string[],
): string[] {
  if (!isObject(block) || typeof block['type'] !== 'string')
    return [`${at}: a block is an object with a type`]
  const { type } = block
  if (future.includes(type)) return []
  const shape = Object.hasOwn(SHAPES, type) ? SHAPES[type] : undefined
  if (shape === undefined)
    return [`${at}: Input tag '${type}' found using 'type' does not match any of the expected tags`]
  const problems: string[] = []
  if (!shape.roles.includes(role)) problems.push(`${at}: ${type} may not stand in a message of the ${role}`)
  const keys = ['type', ...(UNMARKED.has(type) ? [] : ['cache_control']), ...shape.keys]
  for (const key of Object.keys(block))
    if (!keys.includes(key) && !future.includes(key))
      problems.push(`${at}.${type}.${key}: Extra inputs are not permitted`)
  const problem = shape.problem?.(block, future)
  if (problem !== undefined) problems.push(`${at}.${type}: ${problem}`)
  return problems
}

function sourceProblem({ source }: Json, types: readonly string[]): string | undefined {
  if (!isObject(source)) return 'source is missing'
  switch (source['type']) {
    case 'url':
      return filled(source, 'url')
    case 'file':
      return filled(source, 'file_id')
    case 'content':
      return undefined
    case 'text':
      return filled(source, 'data')
    case 'base64':
      if (!types.includes(String(source['media_type'])))
        return `media_type ${source['media_type']} is not taken`
      if (!isBase64(String(source['data']))) return 'data is no base64'
      return magicProblem(source)
    default:
      return `source type ${source['type']} is not known`
  }
}

/** How the bytes of each media type begin. */
const BEGINS: Readonly<Record<string, RegExp>> = {
  'image/png': /^\x89PNG/,
  'image/jpeg': /^\xff\xd8\xff/,
  'image/gif': /^GIF8/,
  'image/webp': /^RIFF....WEBP/s,
  'application/pdf': /^%PDF-/,
}

function magicProblem({ media_type: type, data }: Json): string | undefined {
  const first = Buffer.from(String(data).slice(0, 32), 'base64').toString('latin1')
  const begins = BEGINS[String(type)]
  return begins === undefined || begins.test(first) ? undefined : `data does not begin as ${type}`
}

const IN_RESULT = ['text', 'image', 'document', 'search_result', 'tool_reference']

function resultProblem({ content, is_error: isError }: Json, future: readonly string[]): string | undefined {
  if (isError !== undefined && typeof isError !== 'boolean') return 'is_error is no boolean'
  if (content === undefined || typeof content === 'string') return undefined
  if (!Array.isArray(content)) return 'content is neither text nor list'
  for (const [index, part] of content.entries()) {
    if (!isObject(part) || !IN_RESULT.includes(String(part['type'])))
      return `content.${index} may not stand in a result`
    if (isError === true && part['type'] !== 'text') return `content.${index}: an error has only text`
    const [problem] =
      part['type'] === 'tool_reference' ? [] : blockProblems(part, 'user', `content.${index}`, future)
    if (problem !== undefined) return problem
  }
  return undefined
}
