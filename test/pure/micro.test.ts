import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planMicro } from '../../src/shared/compaction/micro.ts'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import { planPrune, shadowEvents } from '../../src/shared/compaction/prune.ts'
import { readBack } from '../../src/shared/recall/history-tool.ts'
import { text } from '../../src/shared/session/content.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'
import { type SurfaceBuilder, surface } from './surface-builder.ts'

const micro = { keepLast: 3, preserve: ['read_file'], minReclaimTokens: 0 }
const targets = (copies: readonly { target: { seq: number } }[]) => copies.map(({ target }) => target.seq)

/** Six answered calls (results at seqs 2, 4, … 12), then a reply. */
function sixResults(options: Parameters<SurfaceBuilder['result']>[2] = {}): SurfaceBuilder {
  const builder = surface().user('go')
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f'])
    builder.reply('', [id]).result(id, `output of ${id}`, { tokens: 1_024, ...options })
  return builder.reply('seen')
}

test('G9 of the results that the model has seen all but the newest N become a placeholder that names tool and event', () => {
  const copies = planMicro(sixResults().nodes, { micro })
  assert.deepEqual(targets(copies), [2, 4, 6])
  assert.deepEqual(copies[0]?.content, [text('[Previous: used run_command; its result is event #2]')])
})

test('G9 unseen results neither count among the newest N nor are cleared', () => {
  const { nodes } = sixResults()
    .reply('', ['g', 'h'])
    .result('g', 'x', { tokens: 9_999 })
    .result('h', 'x', { tokens: 9_999 })
  assert.deepEqual(targets(planMicro(nodes, { micro })), [2, 4, 6])
  assert.deepEqual(targets(planMicro(nodes, { micro: { ...micro, keepLast: 0 } })), [2, 4, 6, 8, 10, 12])
})

test('G9 preserved tools, errors and small results stay', () => {
  assert.deepEqual(planMicro(sixResults({ name: 'read_file' }).nodes, { micro }), [])
  assert.deepEqual(planMicro(sixResults({ isError: true }).nodes, { micro }), [])
  assert.deepEqual(planMicro(sixResults({ tokens: 20 }).nodes, { micro }), [])
})

test('G9 a small result among large ones stays: its placeholder would cost more', () => {
  const builder = surface().user('go').reply('', ['s']).result('s', 'ok', { tokens: 9 })
  const { nodes } = builder.reply('', ['l']).result('l', 'long', { tokens: 9_000 }).reply('seen')
  assert.deepEqual(targets(planMicro(nodes, { micro: { ...micro, keepLast: 0 } })), [4])
})

test('G9 only when it frees `minReclaimTokens`, which pays for the lost prompt cache (N04)', () => {
  const freed = 3 * 1_000
  assert.equal(planMicro(sixResults().nodes, { micro: { ...micro, minReclaimTokens: freed } }).length, 3)
  assert.deepEqual(planMicro(sixResults().nodes, { micro: { ...micro, minReclaimTokens: freed + 1 } }), [])
})

test('off, nothing is cleared', () => {
  assert.deepEqual(planMicro(sixResults().nodes, { micro: null }), [])
})

test('G8 cleared once: the copies are no targets, of micro and of prune', () => {
  const builder = sixResults()
  for (const copy of planMicro(builder.nodes, { micro }))
    builder.replaceByCopy(shadowEvents(copy, 500, { turn: 1, step: 1 })[1])
  assert.deepEqual(planMicro(builder.nodes, { micro }), [])
  const prune = { thresholdChars: 1, headChars: 0, tailChars: 0, preserve: [] }
  assert.deepEqual(
    targets(planPrune(builder.nodes, { ...resolvePolicy({}, null), prune }, { unseen: true })),
    [],
  )
})

test('images and documents are cleared with the text; blocks that we do not know stay', () => {
  const image = { type: 'image', source: {} }
  const strange = { type: 'hologram', data: 1 }
  const { nodes } = surface()
    .reply('', ['a'])
    .result('a', [strange, image, text('x'), image], { tokens: 3_000, full: 99 })
    .reply('seen')
  const [copy] = planMicro(nodes, { micro: { ...micro, keepLast: 0 } })
  assert.deepEqual(copy?.content, [strange, text('[Previous: used run_command; its result is event #99]')])
})

test('a placeholder is cheaper than what it must free', () => {
  for (const label of [readBack(123_456, 'its result', true), readBack(123_456, 'its result', false)])
    assert.ok(countTokens(`[Previous: used run_command; ${label}]`) < 24)
})
