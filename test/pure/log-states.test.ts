import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { text } from '../../src/shared/session/content.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { applyBatch, foldLog } from '../../src/shared/session/log.ts'
import { requestHeader, sessionStart, userMessage } from '../../src/store/contract/sample-events.ts'
import { cpuMs } from '../support/cpu-time.ts'
import { append, inTurn, opened, refuses, seqsOf, withMessages } from './log-builder.ts'

describe('states', () => {
  const events = [userMessage('a', 'hello'), userMessage('b', 'and bye')]
  it('do not change when they are continued twice', () => {
    const base = opened()
    const left = append(base, ...events)
    const right = append(base, userMessage('b', 'other'), userMessage('c', 'x'))
    assert.deepEqual(base.surface, [])
    assert.deepEqual(
      left.surface.map((node) => node.data),
      events.map((event) => event.data),
    )
    assert.deepEqual(right.surface[0]?.data, { content: [text('other')], source: 'import' })
    refuses(right, /has this key/, userMessage('b', 'again'))
    assert.equal(append(right, userMessage('a', 'only on the left')).surface.length, 3)
  })
  it('of a batch that is refused stay as they were', () => {
    const base = withMessages()
    assert.throws(
      () => applyBatch(base, { turn: null, events: [userMessage('c', 'c'), userMessage('a', 'dup')] }, 0),
      /has this key/,
    )
    assert.deepEqual(seqsOf(base), [2, 3])
    assert.deepEqual(seqsOf(applyBatch(base, { turn: null, events: [userMessage('c', 'c')] }, 0)), [2, 3, 4])
  })
  it('a batch belongs to the open turn', () => {
    assert.throws(() => applyBatch(opened(), { turn: 1, events: [] }, 0), { name: 'TurnClosed' })
    assert.throws(() => applyBatch(inTurn(), { turn: 2, events: [] }, 0), { name: 'TurnClosed' })
    assert.throws(
      () => applyBatch(inTurn(), { turn: null, events: [userMessage('z', 'z', { turn: 1 })] }, 0),
      { name: 'LogRejected' },
    )
  })
  it('are cheap to append to', () => {
    let state = opened()
    const began = cpuMs()
    for (let i = 0; i < 40_000; i++) state = append(state, userMessage(`m${i}`, 'x'))
    assert.equal(state.surface.length, 40_000)
    assert.ok(cpuMs() - began < 4000, 'quadratic: 40,000 appends took seconds')
  })
  it('fold a log from its events', () => {
    const stored: SessionEvent[] = [sessionStart(), requestHeader(), ...events].map((event, seq) => ({
      ...event,
      seq,
      time: seq,
    }))
    assert.deepEqual(seqsOf(foldLog(stored)), [2, 3])
  })
})
