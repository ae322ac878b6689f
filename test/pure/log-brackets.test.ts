import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  checkpoint,
  compactCall,
  compactEnd,
  compactRestore,
  compactStart,
  compactSummary,
  shadowCopy,
  stepEnd,
  turnEnd,
  turnStart,
  userMessage,
} from '../../src/store/contract/sample-events.ts'
import { append, inTurn, opened, refuses, result, seqsOf, withMessages } from './log-builder.ts'

describe('brackets', () => {
  // On withMessages(): 4 start, 5 summary of nodes 2 and 3 (12 tokens), 6 checkpoint, 7 end
  const start = compactStart('m')
  const summary = compactSummary('m', [2, 3], 12)
  const point = checkpoint('m', [2, 3], [4, 5])
  const end = compactEnd('m')

  it('replace their span by the checkpoint', () => {
    const state = append(
      withMessages(),
      start,
      compactCall('m'),
      { ...userMessage('late', 'late') },
      compactSummary('m', [2, 3], 12),
    )
    const done = append(state, checkpoint('m', [2, 3], [4, 7]), end)
    assert.deepEqual(seqsOf(done), [8, 6], 'a message that came meanwhile stands after the checkpoint')
    assert.deepEqual([done.generation, done.bracket], [1, null])
  })
  it('F3: are one at a time', () => refuses(withMessages(), /compaction m is open/, start, compactStart('n')))
  it('start once', () =>
    refuses(withMessages(), /event 4 has this key/, start, compactEnd('m', null, true), start))
  it('carry their own keys', () => {
    refuses(withMessages(), /its key must be "compact.m.start"/, { ...start, key: 'x' })
    refuses(withMessages(), /its key must be "compact.m.summary"/, start, { ...summary, key: 'x' })
    refuses(withMessages(), /its key must be "compact.m.checkpoint"/, start, summary, { ...point, key: 'x' })
    refuses(withMessages(), /its key must be "compact.m.end"/, start, summary, point, { ...end, key: 'x' })
  })
  it('F2: have one owner', () => {
    refuses(inTurn(), /its owner is turn none, the open turn 1/, compactStart('m', null))
    refuses(opened(), /its turn is 1|its owner is turn 1/, compactStart('m', 1))
    refuses(inTurn(), /its owner is turn none/, { ...compactStart('m', null), turn: 1 })
    refuses(inTurn(), /its owner is turn 1/, { ...compactStart('m', 1), turn: null })
    refuses(inTurn(), /its owner is turn none, the start's 1/, compactStart('m', 1), {
      ...compactEnd('m', 1, true),
      data: { ...compactEnd('m', null, true).data },
    })
    refuses(inTurn(), /its owner is turn/, compactStart('m', 1), { ...compactEnd('m', 1, true), turn: null })
  })
  it('F2, F3: take a summary after their start, once', () => {
    refuses(withMessages(), /open compaction is none, not m/, summary)
    refuses(withMessages(), /open compaction is m, not n/, start, compactSummary('n', [2, 3], 12))
    refuses(withMessages(), /event 5 is its summary/, start, summary, { ...summary, key: 'x' })
  })
  it('F7: count exactly what they shadow', () => {
    refuses(withMessages(), /12 tokens, shadowedTokenCount is 11/, start, compactSummary('m', [2, 3], 11))
    refuses(withMessages(), /not on the surface in this order/, start, compactSummary('m', [3, 2], 12))
    refuses(withMessages(), /not on the surface/, start, compactSummary('m', [1, 3], 12))
    refuses(
      append(withMessages(), userMessage('c', 'c')),
      /are not the nodes from 2 to 4/,
      start,
      compactSummary('m', [2, 4], 13),
    )
    refuses(withMessages(), /not on the surface/, start, compactSummary('m', [], 0))
    for (const shadowedSeqs of [[2], [2, 9], [2, 3, 4]]) {
      const data = { ...summary.data, shadowedSeqs }
      refuses(withMessages(), /are not the nodes from 2 to 3/, start, { ...summary, data })
    }
  })
  it('F3: take a checkpoint after the summary, once', () => {
    refuses(withMessages(), /no compaction is open/, checkpoint('m', [2, 3]))
    refuses(withMessages(), /has no summary/, start, checkpoint('m', [2, 3], [4]))
    refuses(withMessages(), /event 6 is the checkpoint/, start, summary, point, {
      ...checkpoint('m', [6], [4, 5]),
      key: 'x',
    })
  })
  it('replace only what was summarized', () => {
    refuses(withMessages(), /not on the surface in this order/, start, summary, checkpoint('m', [2, 4], [5]))
    refuses(
      withMessages(),
      /not on the surface in this order/,
      start,
      summary,
      checkpoint('m', [3, 2], [4, 5]),
    )
    refuses(
      withMessages(),
      /not the one that event 5 summarizes/,
      start,
      summary,
      checkpoint('m', [2], [4, 5]),
    )
    refuses(
      withMessages(),
      /not the one that event 5 summarizes/,
      start,
      summary,
      checkpoint('m', [3], [4, 5]),
    )
    // A node in the middle has changed: the ends are the same, the span is not.
    const [price, copy] = shadowCopy(result, 6)
    const more = append(inTurn(), userMessage('z', 'more'))
    const open = [compactStart('m', 1), compactSummary('m', [3, 5, 6, 7], 5 + 4 + 10 + 4, 1), price, copy]
    refuses(more, /not the one that event 9 summarizes/, ...open, checkpoint('m', [3, 7], [8, 9, 5, 11], 1))
  })
  it('F6: cite start, summary and every node', () => {
    refuses(withMessages(), /does not cite event 4/, start, summary, checkpoint('m', [2, 3], [5]))
    refuses(withMessages(), /does not cite event 5/, start, summary, checkpoint('m', [2, 3], [4]))
    refuses(withMessages(), /does not cite node 3/, start, summary, { ...point, sourceEventSeqs: [2, 4, 5] })
  })
  it('F2, F3: end once, with a checkpoint or an error', () => {
    refuses(withMessages(), /without a checkpoint and without an error/, start, end)
    refuses(withMessages(), /without a checkpoint and without an error/, start, summary, end)
    refuses(withMessages(), /a checkpoint and an error/, start, summary, point, compactEnd('m', null, true))
    refuses(withMessages(), /open compaction is none/, start, compactEnd('m', null, true), {
      ...end,
      key: 'x',
    })
    assert.deepEqual(seqsOf(append(withMessages(), start, compactEnd('m', null, true))), [2, 3])
  })
  it('F8: stand within one turn or between turns', () => {
    refuses(opened(), /compaction m is open/, start, turnStart(1))
    refuses(inTurn(), /compaction m is open/, stepEnd(1, 1), compactStart('m', 1), turnEnd(1))
  })
  it('record calls while open and after their end, never before a start', () => {
    refuses(withMessages(), /has no start/, compactCall('m'))
    refuses(withMessages(), /has no start/, start, compactCall('n'))
    assert.equal(append(withMessages(), start, compactEnd('m', null, true), compactCall('m')).nextSeq, 7)
  })
})

describe('restore', () => {
  const compacted = () =>
    append(
      withMessages(),
      compactStart('m'),
      compactSummary('m', [2, 3], 12),
      checkpoint('m', [2, 3], [4, 5]),
      compactEnd('m'),
      userMessage('late', 'l'),
    )

  it('gives the place back to the nodes', () => {
    const state = append(compacted(), compactRestore('m', 6))
    assert.deepEqual(seqsOf(state), [2, 3, 8])
    assert.equal(state.generation, 2)
  })
  it('of a nested checkpoint gives back the inner one, which can be restored too', () => {
    const again = append(
      compacted(),
      compactStart('n'),
      compactSummary('n', [6, 8], 11),
      checkpoint('n', [6, 8], [9, 10]),
      compactEnd('n'),
    )
    assert.deepEqual(seqsOf(again), [11])
    refuses(again, /checkpoint 6 is not on the surface/, compactRestore('m', 6))
    const inner = append(again, compactRestore('n', 11))
    assert.deepEqual(seqsOf(inner), [6, 8])
    assert.deepEqual(seqsOf(append(inner, compactRestore('m', 6))), [2, 3, 8])
  })
  it('keeps copies that stood in the span', () => {
    const [price, copy] = shadowCopy(result, 6)
    const pruned = append(inTurn(), price, copy)
    const done = append(
      pruned,
      compactStart('m', 1),
      compactSummary('m', [3, 5, 8], 10, 1),
      checkpoint('m', [3, 5, 8], [9, 10], 1),
      compactEnd('m', 1),
    )
    assert.deepEqual(seqsOf(append(done, compactRestore('m', 11))), [3, 5, 8])
  })
  it('is of a checkpoint on the surface, between compactions, once', () => {
    refuses(compacted(), /not the checkpoint of compaction n/, {
      ...compactRestore('n', 6),
      key: 'compact.n.restore',
    })
    refuses(compacted(), /not the checkpoint of compaction m/, compactRestore('m', 8))
    refuses(compacted(), /must restore node 6/, {
      ...compactRestore('m', 6),
      surfaceOp: { op: 'restore', node: 8 },
    })
    refuses(compacted(), /must restore node 6/, { ...compactRestore('m', 6), surfaceOp: 'append' })
    refuses(compacted(), /its key must be/, { ...compactRestore('m', 6), key: 'x' })
    refuses(compacted(), /compaction n is open/, compactStart('n'), compactRestore('m', 6))
    refuses(compacted(), /has this key/, compactRestore('m', 6), compactRestore('m', 6))
  })
})
