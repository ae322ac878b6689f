import fc from 'fast-check'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import type { MessageSource, SurfaceNode } from '../../src/shared/session/events.ts'
import { call, nodeBuilder } from '../pure/checkpoint-fixtures.ts'

/** Print the seed, take it back from `FC_SEED`; number of runs from `FC_RUNS`. */
export function propertyRuns(runs: number): { seed: number; numRuns: number } {
  const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
  const numRuns = Number(process.env['FC_RUNS'] ?? runs)
  console.log(`FC_SEED=${seed} FC_RUNS=${numRuns}`)
  return { seed, numRuns }
}

/** Words of a coding session, tags and marks of ours, whitespace, and any UTF-16, lone surrogates too. */
const piece = fc.oneof(
  fc.constantFrom(
    'src/upload/uploader.ts',
    'sendChunk',
    'retry_policy',
    'npm test',
    '#482',
    'https://example.org/a?b=c',
    'E2BIG',
    'port 8443',
    '漢字の説明',
    '😀',
    '## The user said (verbatim)',
    '[Checkpoint written by code',
    '```',
    '> ',
    '<keep>',
    '</keep>',
    '<system-reminder>',
    '</system-reminder>',
    '\n',
    '\r\n',
    ' ',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 })
    .map((units) => String.fromCharCode(...units)),
)
export const anyText = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(' '))
const longText = fc
  .tuple(anyText, fc.integer({ min: 1, max: 60 }))
  .map(([value, times]) => `${value} `.repeat(times))
const sessionText = fc.oneof({ weight: 4, arbitrary: anyText }, { weight: 1, arbitrary: longText })

const IMAGE: ContentBlock = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
}

type Said =
  | { readonly kind: 'user'; readonly value: string; readonly source: MessageSource; readonly image: boolean }
  | { readonly kind: 'answer'; readonly value: string }
  | {
      readonly kind: 'round'
      readonly value: string
      readonly output: string
      readonly failed: boolean
      readonly tool: string
    }

const said: fc.Arbitrary<Said> = fc.oneof(
  fc.record({
    kind: fc.constant('user' as const),
    value: sessionText,
    source: fc.constantFrom<MessageSource>('prompt', 'prompt', 'import', 'context', 'notice'),
    image: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('answer' as const), value: sessionText }),
  fc.record({
    kind: fc.constant('round' as const),
    value: anyText,
    output: sessionText,
    failed: fc.boolean(),
    tool: fc.constantFrom('run_command', 'read_file', 'read_rules', 'ask_user', 'todo_write'),
  }),
)

export const anySession = fc.array(said, { minLength: 1, maxLength: 25 })

/** The nodes of what was said, with seqs from `firstSeq`. */
export function nodesOf(session: readonly Said[], firstSeq: number): SurfaceNode[] {
  const { user, assistant, result } = nodeBuilder(firstSeq)
  return session.flatMap((part, index) => {
    if (part.kind === 'user') return [user(part.image ? [IMAGE, text(part.value)] : part.value, part.source)]
    if (part.kind === 'answer') return [assistant(text(part.value))]
    const id = `c${firstSeq}x${index}`
    const input =
      part.tool === 'todo_write'
        ? { todos: [{ content: part.value, status: 'pending' }] }
        : { command: part.value }
    return [assistant(call(id, part.tool, input)), result(id, part.tool, part.output, part.failed)]
  })
}
