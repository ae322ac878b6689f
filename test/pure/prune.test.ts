import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  cheaperCopies,
  measureContent,
  planPrune,
  pruneContent,
  shadowEvents,
} from '../../src/shared/compaction/prune.ts'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import { parseEventData } from '../../src/shared/session/events.ts'
import { keys } from '../../src/shared/session/keys.ts'
import { cpuMs } from '../support/cpu-time.ts'
import { surface } from './surface-builder.ts'

const image: ContentBlock = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
}
const settings = { thresholdChars: 200, headChars: 20, tailChars: 10 }
const marker = (missing: number, seq = 7) =>
  `[… ${missing} characters left out; the whole is event #${seq} …]`
const long = `${'h'.repeat(20)}${'m'.repeat(270)}${'t'.repeat(10)}`

test('G5 measureContent counts code points of text blocks only', () => {
  assert.equal(measureContent([text('a😀b')]), 3)
  assert.equal(measureContent([text('a'), image, text('😀😀')]), 3)
  assert.equal(measureContent([]), 0)
  assert.equal(measureContent([text('\ud83d\ud83d😀\ude00')]), [...'\ud83d\ud83d😀\ude00'].length)
})

test('G6 at or under the threshold nothing changes', () => {
  assert.equal(pruneContent([text('x'.repeat(200))], settings, 7), null)
  assert.equal(pruneContent([], settings, 7), null)
  assert.equal(pruneContent([image], settings, 7), null)
})

test('G6 over it: head, marker, tail', () => {
  assert.deepEqual(pruneContent([text(long)], settings, 7), [
    text(`${'h'.repeat(20)}\n${marker(270)}\n${'t'.repeat(10)}`),
  ])
})

test('G6 the threshold counts code points, and no surrogate pair is broken', () => {
  assert.equal(pruneContent([text('😀'.repeat(200))], settings, 7), null)
  const pruned = pruneContent([text('😀'.repeat(300))], settings, 7)
  assert.deepEqual(pruned, [text(`${'😀'.repeat(20)}\n${marker(270)}\n${'😀'.repeat(10)}`)])
})

test('G6 rich blocks keep their place, emptied text blocks vanish, fields stay', () => {
  const blocks = [
    { ...text('h'.repeat(15)), citations: null },
    image,
    text('m'.repeat(100)),
    text('n'.repeat(100)),
    image,
    text('t'.repeat(100)),
  ]
  assert.deepEqual(pruneContent(blocks, settings, 7), [
    blocks[0],
    image,
    text(`${'m'.repeat(5)}\n${marker(285)}`),
    image,
    text('t'.repeat(10)),
  ])
})

test("G6 a cut at a block's edge, without head, without tail", () => {
  const edge = [text('h'.repeat(20)), text('m'.repeat(270)), text('t'.repeat(10))]
  assert.deepEqual(pruneContent(edge, settings, 7), [edge[0], text(marker(270)), edge[2]])
  assert.deepEqual(pruneContent([text(long)], { ...settings, headChars: 0 }, 7), [
    text(`${marker(290)}\n${'t'.repeat(10)}`),
  ])
  assert.deepEqual(pruneContent([text(long)], { ...settings, headChars: 0, tailChars: 0 }, 7), [
    text(marker(300)),
  ])
})

test('G6 what would not become shorter stays whole', () => {
  assert.equal(
    pruneContent([text('x'.repeat(80))], { thresholdChars: 10, headChars: 20, tailChars: 10 }, 7),
    null,
  )
})

test('G8 pruning twice is pruning once', () => {
  const once = pruneContent([text(long)], settings, 7)
  assert.ok(once)
  assert.equal(pruneContent(once, settings, 7), null)
})

const policy = {
  contextWindow: 32_000 as number | null,
  replyMaxTokens: 8_000,
  checkpointLimitTokens: 5_000,
  prune: { thresholdChars: 100, headChars: 10, tailChars: 5, preserve: ['read_file'] },
  retainTokens: 0,
}
const big = 'x'.repeat(5_000)
const targets = (copies: readonly { target: { seq: number } }[]) => copies.map(({ target }) => target.seq)

test('B10 a result that the model has not yet seen is not pruned; with `unseen`, for a refused request, it is', () => {
  const { nodes } = surface()
    .user('go')
    .reply('', ['a'])
    .result('a', big)
    .reply('', ['b', 'c'])
    .result('b', big)
    .result('c', big)
  assert.deepEqual(targets(planPrune(nodes, policy, { unseen: false })), [2])
  assert.deepEqual(targets(planPrune(nodes, policy, { unseen: true })), [2, 4, 5])
})

test('preserved tools and short results stay, errors are cut too', () => {
  const { nodes } = surface()
    .reply('', ['a', 'b', 'c'])
    .result('a', big, { name: 'read_file' })
    .result('b', 'short')
    .result('c', big, { isError: true })
    .reply('seen')
  assert.deepEqual(targets(planPrune(nodes, policy, { unseen: false })), [3])
  assert.deepEqual(planPrune(nodes, { ...policy, prune: null }, { unseen: true }), [])
})

test('B2 what stands in the tail that pressure keeps is verbatim; the ratio says how large it is', () => {
  const builder = surface().user('go')
  for (const id of ['a', 'b', 'c']) builder.reply('', [id], { tokens: 10 }).result(id, big, { tokens: 990 })
  const { nodes } = builder.reply('seen', [], { tokens: 10 })
  assert.deepEqual(targets(planPrune(nodes, { ...policy, retainTokens: 2_020 }, { unseen: false })), [2])
  assert.deepEqual(
    targets(planPrune(nodes, { ...policy, retainTokens: 2_020 }, { unseen: false, ratio: 2 })),
    [2, 4],
  )
})

test('B14 a seen unit larger than the tail is pruned (fault D03)', () => {
  const { nodes } = surface()
    .user('go')
    .reply('', ['a'], { tokens: 10 })
    .result('a', big, { tokens: 50_000 })
    .reply('', ['b'])
    .result('b', 'ok')
  assert.deepEqual(targets(planPrune(nodes, { ...policy, retainTokens: 20_000 }, { unseen: false })), [2])
})

test('a refused request that only preserved results make too long: the newest of them are cut, as the last resort', () => {
  const builder = surface().user('go').reply('', ['a']).result('a', big, { name: 'read_file', tokens: 9_000 })
  const { nodes } = builder
    .reply('', ['b', 'c'])
    .result('b', big, { name: 'read_file', tokens: 9_000 })
    .result('c', big, { name: 'read_file', tokens: 9_000 })
  assert.deepEqual(targets(planPrune(nodes, policy, { unseen: true })), [4, 5])
  assert.deepEqual(planPrune(nodes, policy, { unseen: false }), [], 'never under pressure')
  assert.deepEqual(
    planPrune(nodes, { ...policy, contextWindow: 64_000 }, { unseen: true }),
    [],
    'nor when they fit',
  )
  assert.deepEqual(
    targets(planPrune(nodes, { ...policy, contextWindow: 64_000 }, { unseen: true, ratio: 2.5 })),
    [4, 5],
  )
  assert.deepEqual(
    targets(planPrune(nodes, { ...policy, contextWindow: 64_000 }, { unseen: true, overheadTokens: 30_000 })),
    [4, 5],
  )
  assert.deepEqual(planPrune(nodes, { ...policy, contextWindow: null }, { unseen: true }), [])
})

test('G7 a copy keeps every field but the content and cites its target; its exact price stands directly before it', () => {
  const { nodes } = surface()
    .reply('', ['a'])
    .result('a', [text(big), image], { seq: 41, tokens: 1_250, isError: true, full: 40 })
    .reply('seen')
  const [copy] = planPrune(nodes, policy, { unseen: false })
  assert.ok(copy)
  assert.deepEqual([copy.charsBefore, copy.charsAfter < 200], [5_000, true])
  const [price, result] = shadowEvents(copy, 60, { turn: 3, step: null })
  assert.deepEqual(price, {
    key: keys.shadowPrice(41),
    type: 'compact/prune',
    turn: 3,
    step: null,
    data: { shadowedRange: { start: 41, end: 41 }, shadowedSeqs: [41], shadowedTokenCount: 1_250 },
    tokens: 0,
  })
  const { content, ...rest } = result.data
  assert.deepEqual(rest, { callId: 'a', name: 'run_command', isError: true, full: 40 })
  assert.match(
    JSON.stringify(content),
    /the whole is event #40/,
    'the uncut output, when the result was cut at intake',
  )
  assert.equal(content[1], image)
  assert.deepEqual(
    {
      key: result.key,
      turn: result.turn,
      tokens: result.tokens,
      surfaceOp: result.surfaceOp,
      sourceEventSeqs: result.sourceEventSeqs,
    },
    {
      key: keys.shadow(41),
      turn: 3,
      tokens: 60,
      surfaceOp: { op: 'replace', start: 41, end: 41 },
      sourceEventSeqs: [41],
    },
  )
  assert.deepEqual(parseEventData('tool/result', result.data), result.data)
})

test('G8 a second pass does nothing: a copy is never shadowed again', () => {
  const builder = surface().reply('', ['a']).result('a', big).reply('seen')
  const [copy] = planPrune(builder.nodes, policy, { unseen: false })
  assert.ok(copy)
  builder.replaceByCopy(shadowEvents(copy, 30, { turn: null, step: null })[1])
  const harsher = { ...policy, prune: { thresholdChars: 1, headChars: 0, tailChars: 0, preserve: [] } }
  assert.deepEqual(planPrune(builder.nodes, harsher, { unseen: true }), [])
})

test('G8 a copy that would not cost less than its result is not written', () => {
  const builder = surface()
    .reply('', ['a', 'b'])
    .result('a', ' '.repeat(3_000), { tokens: 38 }) // Blanks are counted in runs.
    .result('b', big, { tokens: 39 })
    .reply('seen')
  const planned = planPrune(builder.nodes, policy, { unseen: false })
  assert.equal(planned.length, 2)
  assert.deepEqual(
    cheaperCopies(planned, () => 38).map(({ copy, tokens }) => [copy.target.data.callId, tokens]),
    [['b', 38]],
  )
})

test('a million characters are cut in linear time', () => {
  const huge = [text('😀a'.repeat(500_000))]
  const startedAt = cpuMs()
  assert.ok(pruneContent(huge, { thresholdChars: 8192, headChars: 4096, tailChars: 1024 }, 7))
  assert.ok(cpuMs() - startedAt < 10_000)
})
