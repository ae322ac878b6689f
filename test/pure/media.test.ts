import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  holdsMedia,
  mediaBytes,
  planMediaRefusal,
  planMediaRelief,
  planTooWide,
} from '../../src/shared/compaction/media.ts'
import { coversOf, renderPointer } from '../../src/shared/compaction/pointer.ts'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import type { SurfaceNode } from '../../src/shared/session/events.ts'
import { imageSize } from '../../src/shared/tokens/image-size.ts'
import { png } from '../support/png.ts'

// Images and documents leave the surface by bytes, the oldest first, or because the provider refuses one.

let seq = 0
const node = (type: SurfaceNode['type'], content: readonly ContentBlock[], data: object = {}): SurfaceNode =>
  ({
    seq: ++seq,
    turn: 1,
    step: 1,
    time: 0,
    key: `k${seq}`,
    type,
    tokens: 1,
    surfaceOp: 'append',
    data: { content, ...data },
  }) as unknown as SurfaceNode
const prompt = (...content: ContentBlock[]) => node('user/message', content, { source: 'prompt' })
const result = (...content: ContentBlock[]) =>
  node('tool/result', content, { callId: 'c', name: 'shot', isError: false })
const reply = () => node('assistant/message', [text('Seen.')], { stopReason: 'end_turn' })
const shot = (bytes = 3_000) => png(10, 10, bytes)
const kinds = (content: readonly ContentBlock[]) => content.map(({ type }) => type).join(' ')

describe('relief of bytes', () => {
  test('the oldest leave first, one by one, and each label names its event', () => {
    const first = prompt(text('Two.'), shot(), shot())
    const nodes = [first, result(shot()), reply()]
    const [copy, ...others] = planMediaRelief(nodes, { needBytes: 100 }, true)
    assert.deepEqual(others, [])
    assert.equal(copy?.target, first)
    assert.equal(kinds(copy?.content ?? []), 'text text image')
    assert.match(
      String(copy?.content[1]?.['text']),
      new RegExp(
        `^\\[image image/png of 4\\d{3} bytes left out .*; history {"seq": ${first.seq}} reads it\\]$`,
      ),
    )
    assert.deepEqual(
      planMediaRelief(nodes, { needBytes: 9_000 }, true).map(({ content }) => kinds(content)),
      ['text text text', 'text'],
    )
  })

  test('more than is needed is taken from what the model has seen alone', () => {
    const nodes = [prompt(shot()), result(shot()), reply(), result(shot()), result(shot())]
    const wish = { needBytes: 100, wishBytes: 100_000 }
    assert.deepEqual(
      planMediaRelief(nodes, wish, false).map(({ target }) => target),
      nodes.slice(0, 2),
    )
    const need = { needBytes: 9_000 }
    assert.deepEqual(
      planMediaRelief(nodes, need, false).map(({ target }) => target),
      [nodes[0], nodes[1], nodes[3]],
    )
  })

  test('never of a prompt that waits for its answer, nor of a reply or a checkpoint', () => {
    const checkpoint = node('user/message', [shot()], { source: 'durable-compaction/checkpoint' })
    const nodes = [
      checkpoint,
      node('assistant/message', [shot()], { stopReason: 'end_turn' }),
      prompt(shot()),
    ]
    assert.deepEqual(planMediaRelief(nodes, { needBytes: 1e9 }, true), [])
    assert.equal(mediaBytes(nodes), 0)
  })

  test('a result inside a message of somebody’s own is reached, too', () => {
    const said = prompt({ type: 'tool_result', tool_use_id: 'c', content: [shot(), text('ok')] })
    const [copy] = planMediaRelief([said, reply()], { needBytes: 1 }, false)
    assert.deepEqual(kinds((copy?.content[0]?.['content'] ?? []) as ContentBlock[]), 'text text')
    assert.ok(holdsMedia([said.data]) && !holdsMedia(copy === undefined ? [] : [copy]))
  })
})

test('a refused image leaves wherever it stands, in a prompt that waits as well', () => {
  const bad = png(2_500, 10, 400)
  const nodes = [result(bad, shot()), reply(), prompt(text('This?'), bad)]
  const copies = planMediaRefusal(nodes, { ...bad, cache_control: { type: 'ephemeral' } }, false)
  assert.deepEqual(
    copies.map(({ content }) => kinds(content)),
    ['text image', 'text text'],
  )
  assert.match(
    String(copies[0]?.content[0]?.['text']),
    /left out, since the provider refuses it; it is event #\d+\]$/,
  )
})

describe('images with sides that the provider refuses', () => {
  const wide = () => png(2_500, 10, 400)
  const isTooWide = (image: ContentBlock) =>
    (imageSize((image['source'] as { data: string }).data)?.width ?? 0) > 2_000
  const place = (nodes: readonly SurfaceNode[], many: boolean) =>
    planTooWide(nodes, { many, isTooWide }, false).map(
      ({ target, content }) => `${nodes.indexOf(target)}: ${kinds(content)}`,
    )

  test('leave all, whatever their number, where it takes none of them', () => {
    const nodes = [prompt(wide(), shot()), reply(), prompt(wide())]
    assert.deepEqual(place(nodes, false), ['0: text image', '2: text'])
  })

  test('leave from the oldest on, until there are few: of what the model has seen some more', () => {
    const some = (count: number) => Array.from({ length: count }, wide)
    const unseen = [prompt(...some(23))]
    assert.deepEqual(place(unseen, true), [`0: ${'text '.repeat(3)}${'image '.repeat(20).trim()}`])
    const seen = [result(...some(4)), result(...some(6)), reply(), prompt(...some(11))]
    assert.deepEqual(place(seen, true), ['0: text text text text', '1: text text image image image image'])
    const small = Array.from({ length: 30 }, () => shot())
    assert.deepEqual(place([prompt(wide(), ...small), reply()], true), [
      `0: text ${'image '.repeat(30).trim()}`,
    ])
    assert.deepEqual(place([prompt(...some(20)), reply()], true), [
      `0: ${'text '.repeat(5)}${'image '.repeat(15).trim()}`,
    ])
  })
})

test('fault O04: a checkpoint names the newest events whose pictures are not visible any more, those of earlier checkpoints too', () => {
  const covered = { messages: 2, tokens: 9, firstSeq: 1, lastSeq: 3, media: [2, 3] }
  const earlier = prompt(text('checkpoint'))
  const shots = Array.from({ length: 5 }, () => result(shot()))
  const covers = coversOf([earlier, prompt(text('no picture')), ...shots], (known) =>
    known === earlier ? covered : undefined,
  )
  assert.deepEqual(covers.media, [3, ...shots.map((one) => one.seq)])
  assert.match(
    renderPointer(covers, { historyTool: true }),
    /not visible any more, the newest are in #3, #\d+, /,
  )
  assert.doesNotMatch(renderPointer({ messages: 1, tokens: 1, firstSeq: 1, lastSeq: 1 }, {}), /visible/)
})
