import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ContentBlock } from '../../src/shared/session/content.ts'
import { isCutOff, isPaused, isWhole } from '../../src/shared/session/stop-reasons.ts'
import { toolPairingBalancedBefore, unansweredCalls, unitsOf } from '../../src/shared/session/tool-pairing.ts'
import {
  checkpoint,
  compactEnd,
  compactRestore,
  compactStart,
  compactSummary,
  userMessage,
} from '../../src/store/contract/sample-events.ts'
import { append, seqsOf, withMessages } from './log-builder.ts'
import { surface } from './surface-builder.ts'

test('an older state that goes on still knows what its checkpoint stands for', () => {
  const compacted = append(
    withMessages(),
    compactStart('m'),
    compactSummary('m', [2, 3], 12),
    checkpoint('m', [2, 3], [4, 5]),
    compactEnd('m'),
  )
  const newer = append(compacted, userMessage('c', 'later'))
  assert.deepEqual(seqsOf(newer), [6, 8])
  const undone = append(compacted, compactRestore('m', 6))
  assert.deepEqual(seqsOf(undone), [2, 3])
  assert.deepEqual(seqsOf(append(undone, userMessage('c', 'later'))), [2, 3, 9])
  assert.deepEqual(seqsOf(append(newer, compactRestore('m', 6))), [2, 3, 8])
  assert.deepEqual(seqsOf(compacted), [6])
})

describe('stop reasons', () => {
  const search: ContentBlock = { type: 'server_tool_use', id: 's' }

  test('after which a reply is whole, and after which it was cut off', () => {
    for (const reason of ['end_turn', 'tool_use', 'stop_sequence', 'pause_turn'])
      assert.deepEqual([isWhole(reason), isCutOff(reason)], [true, false], reason)
    for (const reason of ['max_tokens', 'model_context_window_exceeded'])
      assert.deepEqual([isWhole(reason), isCutOff(reason)], [false, true], reason)
    for (const reason of ['refusal', '', 'new_reason'])
      assert.deepEqual([isWhole(reason), isCutOff(reason)], [false, false], reason)
  })

  test("a pause is one only while the provider's tools are at work", () => {
    const content = [{ type: 'text', text: 'x' }, search]
    assert.ok(isPaused('pause_turn', content))
    assert.ok(!isPaused('pause_turn', [{ type: 'text', text: 'x' }]))
    assert.ok(!isPaused('pause_turn', [{ type: 'tool_use', id: 'a' }]))
    assert.ok(!isPaused('end_turn', content))
  })
})

describe('units of a surface', () => {
  const units = (nodes: Parameters<typeof unitsOf>[0]) =>
    unitsOf(nodes).map(({ from, to, tokens }) => [from, to, tokens])

  test('a reply with all its results, and whatever stands between, is one; other messages stand alone', () => {
    const { nodes } = surface()
      .user('go', 'prompt', { tokens: 1 })
      .reply('', ['a', 'b'], { tokens: 2 })
      .result('b', 'x', { tokens: 4 })
      .user('wait', 'prompt', { tokens: 8 })
      .result('a', 'y', { tokens: 16 })
      .reply('done', [], { tokens: 32 })
      .reply('', ['c'], { tokens: 64 })
      .result('c', 'z', { tokens: 128 })
    assert.deepEqual(units(nodes), [
      [0, 0, 1],
      [1, 4, 30],
      [5, 5, 32],
      [6, 7, 192],
    ])
  })

  test('a call that got no result ends where the next reply begins, the newest one at the end', () => {
    const { nodes } = surface()
      .reply('', ['a'], { tokens: 1 })
      .user('go on', 'prompt', { tokens: 2 })
      .reply('', ['b'], { tokens: 4 })
      .user('and now', 'prompt', { tokens: 8 })
    assert.deepEqual(units(nodes), [
      [0, 1, 3],
      [2, 3, 12],
    ])
    assert.deepEqual(
      unansweredCalls(nodes).map(({ callId, name, assistantSeq, turn, step }) => [
        callId,
        name,
        assistantSeq,
        turn,
        step,
      ]),
      [
        ['a', 'run_command', 0, 1, 1],
        ['b', 'run_command', 2, 1, 1],
      ],
    )
  })

  test('what stands alone is named with its place', () => {
    const thrown = (nodes: Parameters<typeof unitsOf>[0], seq: number) => {
      try {
        toolPairingBalancedBefore(nodes, seq)
      } catch (error) {
        const { name, message, details } = error as Error & { details: unknown }
        return [name, message, details]
      }
      return 'accepted'
    }
    const stray = surface().skipTo(5).user('a').result('gone', 'x').nodes
    assert.deepEqual(thrown(stray, 5), [
      'LogRejected',
      'The result of call gone at seq 6 stands alone: no call before it has this id.',
      { seq: 6, callId: 'gone' },
    ])
    assert.deepEqual(thrown(stray, 7), ['InvalidSpan', 'No node of the surface has seq 7.', { seq: 7 }])
    const twice = surface().skipTo(5).reply('', ['a']).reply('', ['a']).nodes
    assert.equal(thrown(twice, 5), 'accepted')
    const open = surface().skipTo(5).reply('', ['a', 'a']).nodes
    assert.deepEqual(thrown(open, 5), [
      'LogRejected',
      'Call id a at seq 5 is used again while a call of this id is open.',
      { seq: 5, callId: 'a' },
    ])
  })
})
