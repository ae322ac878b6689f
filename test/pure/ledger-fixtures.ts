import { recognise } from '../../src/shared/compaction/ledger/recognise.ts'
import type { ItemKind, LedgerBudget, LedgerMessage } from '../../src/shared/compaction/ledger/types.ts'

/** Stand-in for the counter: four characters a token. */
export const count = (text: string): number => Math.ceil(text.length / 4)

export const wide: LedgerBudget = {
  listTokens: 100_000,
  userTokens: 100_000,
  userStartTokens: 25_000,
  planTokens: 10_000,
  errorTokens: 10_000,
  assistantTokens: 10_000,
  userSharesTotal: false,
}

export const user = (text: string, source?: string): LedgerMessage => ({
  role: 'user',
  blocks: [textBlock(text)],
  ...(source === undefined ? {} : { source }),
})

export const assistant = (text: string): LedgerMessage => ({ role: 'assistant', blocks: [textBlock(text)] })

/** A call and its result, as two messages. */
export function call(
  tool: string,
  input: Record<string, unknown>,
  result: string,
  isError = false,
): LedgerMessage[] {
  const id = `call-${nextId++}`
  return [
    { role: 'assistant', blocks: [{ type: 'tool_use', id, name: tool, input } as { type: string }] },
    {
      role: 'user',
      blocks: [
        { type: 'tool_result', tool_use_id: id, content: result, is_error: isError } as { type: string },
      ],
    },
  ]
}
let nextId = 0

export const bash = (command: string, result = 'ok', isError = false) =>
  call('bash', { command }, result, isError)

function textBlock(text: string): { type: string } {
  return { type: 'text', text } as { type: string }
}

/** `kind value` of everything found in a text, in the order of the kinds. */
export function found(text: string, root = '', prose = true, known: readonly string[] = []): string[] {
  const items: string[] = []
  recognise(text, { root, prose, known: (path) => known.includes(path) }, (kind, value, label) => {
    items.push(`${kind} ${label === undefined ? value : `${label} ${value}`}`)
  })
  return items
}

export function ofKind(kind: ItemKind, text: string, root = ''): string[] {
  return found(text, root)
    .filter((item) => item.startsWith(`${kind} `))
    .map((item) => item.slice(kind.length + 1))
}
