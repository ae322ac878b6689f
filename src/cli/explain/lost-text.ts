import type { Lost } from '../../shared/session/events.ts'
import { formatCount } from '../table.ts'

/** What left the context, by type of message and block. */
const LEFT: Readonly<Record<string, string>> = {
  'user/message': 'user messages',
  'assistant/message': 'replies',
  'tool/result': 'results',
  tool_use: 'calls',
  thinking: 'thoughts',
  image: 'images',
  document: 'documents',
}

/** What stands nowhere in the context any more. */
const MISSING: Readonly<Record<string, string>> = {
  userText: 'texts of the user',
  pin: 'pins',
  link: 'links',
  path: 'paths',
  directory: 'directories',
  file: 'files',
  error: 'errors',
  name: 'names',
  id: 'ids',
  value: 'values',
  command: 'commands',
  line: 'lines',
}

/** Counts of what a checkpoint dropped, for people: `left the context: 3 user messages; not in the checkpoint: 2 texts of the user`. */
export function lostText({ counts }: Pick<Lost, 'counts'>): string {
  const entries = Object.entries(counts)
  const isLeft = (kind: string) => Object.hasOwn(LEFT, kind) || kind.includes('_')
  const listed = (found: readonly (readonly [string, number])[]) =>
    found
      .map(([kind, count]) => `${formatCount(count)} ${LEFT[kind] ?? MISSING[kind] ?? `of kind ${kind}`}`)
      .join(', ')
  const left = entries.filter(([kind]) => isLeft(kind))
  const missing = entries.filter(([kind]) => !isLeft(kind))
  return [
    ...(left.length === 0 ? [] : [`left the context: ${listed(left)}`]),
    ...(missing.length === 0 ? [] : [`not in the checkpoint: ${listed(missing)}`]),
  ].join('; ')
}
