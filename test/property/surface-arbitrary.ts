import fc from 'fast-check'
import type { ContentBlock } from '../../src/shared/session/content.ts'
import { type SurfaceBuilder, surface } from '../pure/surface-builder.ts'

const env = process.env

/** Runs and seed of a property: `FC_RUNS`, and `FC_SEED` to repeat a failure; the seed is printed with every failure. */
export const runs = (numRuns: number): fc.Parameters<unknown> => ({
  numRuns: Number(env['FC_RUNS'] ?? numRuns),
  ...(env['FC_SEED'] === undefined ? {} : { seed: Number(env['FC_SEED']) }),
})

const words = fc.string({ unit: 'grapheme', minLength: 0, maxLength: 40 })
const anyText = fc.oneof(
  { weight: 4, arbitrary: words },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
  fc.constant(' \n'),
)
const textBlock = anyText.map((text): ContentBlock => ({ type: 'text', text }))
const image: fc.Arbitrary<ContentBlock> = fc.constant({
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'AA==' },
})
const strange: fc.Arbitrary<ContentBlock> = fc
  .json()
  .map((data): ContentBlock => ({ type: 'hologram', data }))

const ids = fc.constantFrom('a', 'b', 'c', 'toolu_01', 'call|7', '', '漢', 'x'.repeat(80))
const input = fc.oneof(
  fc.constant({}),
  fc.json().map((json): unknown => JSON.parse(json)),
  fc.constant({ path: 'a.ts' }),
)
const thinking = fc.constantFrom<ContentBlock>(
  { type: 'thinking', thinking: 'hm', signature: 's' },
  { type: 'thinking', thinking: 'cut', signature: '' },
  { type: 'redacted_thinking', data: 'x' },
  { type: 'redacted_thinking', data: '' },
)
const serverBlock = ids.chain((id) =>
  fc.constantFrom<ContentBlock>(
    { type: 'server_tool_use', id, name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: id, content: [] },
  ),
)
const callBlock = fc
  .tuple(ids, fc.constantFrom('run_command', 'read_file', 'fs.read', ''), input)
  .map(([id, name, value]): ContentBlock => ({ type: 'tool_use', id, name, input: value }))
const resultBlock = fc
  .tuple(ids, fc.oneof(anyText, fc.array(textBlock, { maxLength: 2 })))
  .map(([id, content]): ContentBlock => ({ type: 'tool_result', tool_use_id: id, content }))

const content = (...blocks: fc.Arbitrary<ContentBlock>[]) => fc.array(fc.oneof(...blocks), { maxLength: 4 })
const tokens = fc.integer({ min: 1, max: 4_000 })

type Step = (builder: SurfaceBuilder) => void

const anyNode: fc.Arbitrary<Step> = fc.oneof(
  fc
    .tuple(
      content(textBlock, image, strange, resultBlock, callBlock, thinking),
      fc.constantFrom('prompt' as const, 'import' as const, 'context' as const),
      tokens,
    )
    .map(
      ([blocks, source, price]): Step =>
        (builder) =>
          void builder.user(blocks, source, { tokens: price }),
    ),
  fc
    .tuple(
      content(
        textBlock,
        thinking,
        callBlock,
        serverBlock,
        strange,
        fc.constant({ type: 'compaction', content: null }),
      ),
      tokens,
    )
    .map(
      ([blocks, price]): Step =>
        (builder) =>
          void builder.reply(blocks, [], { tokens: price }),
    ),
  fc.tuple(ids, content(textBlock, image, strange), fc.boolean(), tokens).map(
    ([id, blocks, isError, price]): Step =>
      (builder) =>
        void builder.result(id, blocks, { isError, tokens: price }),
  ),
)

/** Any surface at all: damaged pairs, blank and unknown blocks, odd ids, ill-formed text. */
export const anySurface = fc.array(anyNode, { maxLength: 25 }).map((steps) => {
  const builder = surface()
  for (const step of steps) step(builder)
  return builder
})

const tool = fc.constantFrom('run_command', 'read_file', 'search_files')
const output = fc.oneof(
  { weight: 3, arbitrary: words },
  fc.integer({ min: 100, max: 900 }).map((length) => '😀x'.repeat(length)),
)

interface Call {
  readonly tool: string
  readonly output: string
  readonly isError: boolean
  readonly tokens: number
}
const call: fc.Arbitrary<Call> = fc.record({ tool, output, isError: fc.boolean(), tokens })
/** One message, or one reply with its calls answered in a shuffled order, perhaps with a message in between. */
const soundStep = fc.oneof(
  fc.record({
    kind: fc.constant('user' as const),
    tokens,
    source: fc.constantFrom('prompt' as const, 'import' as const),
  }),
  fc.record({ kind: fc.constant('checkpoint' as const), tokens }),
  fc.record({
    kind: fc.constant('reply' as const),
    tokens,
    calls: fc.array(call, { maxLength: 3 }),
    order: fc.integer({ min: 0, max: 2 }),
    steers: fc.boolean(),
  }),
)

/** A surface as sessions have it: every call is answered before the next reply. */
export const soundSurface = fc.array(soundStep, { minLength: 1, maxLength: 30 }).map((steps) => {
  const builder = surface()
  let callNumber = 0
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'user') builder.user(`message ${index}`, step.source, { tokens: step.tokens })
    else if (step.kind === 'checkpoint') builder.checkpoint(`[Checkpoint ${index}]`, { tokens: step.tokens })
    else {
      const calls = step.calls.map((one) => ({ ...one, id: `call_${callNumber++}` }))
      const blocks = calls.map(
        ({ id, tool: name }): ContentBlock => ({ type: 'tool_use', id, name, input: {} }),
      )
      builder.reply([{ type: 'text', text: `reply ${index}` }, ...blocks], [], { tokens: step.tokens })
      for (const { id, tool: name, output: said, isError, tokens: price } of [
        ...calls.slice(step.order),
        ...calls.slice(0, step.order),
      ]) {
        builder.result(id, said, { name, isError, tokens: price })
        if (step.steers) builder.user(`steer ${id}`, 'prompt', { tokens: 5 })
      }
    }
  }
  return builder
})
