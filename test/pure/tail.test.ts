import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstUnseen } from '../../src/shared/compaction/tail.ts'
import { surface } from './surface-builder.ts'

const paused = { stopReason: 'pause_turn' }

test('a reply that the provider paused is still open while it is the newest node', () => {
  assert.equal(firstUnseen(surface().user('go').reply('searching', [], paused).nodes), 1)
  assert.equal(firstUnseen(surface().reply('searching', [], paused).nodes), 0)
  assert.equal(firstUnseen(surface().user('go').reply('done').nodes), 2, 'one that ended is seen')
  assert.equal(
    firstUnseen(surface().user('go').reply('searching', [], paused).user('and').nodes),
    2,
    'one with something after it is seen',
  )
})

test('what an earlier turn left unanswered is seen; what belongs to no turn is not', () => {
  assert.equal(firstUnseen(surface().user('old').user('new', 'prompt', { turn: 2 }).nodes, 2), 1)
  assert.equal(firstUnseen(surface().user('steered', 'prompt', { turn: null }).nodes, 2), 0)
})
