import assert from 'node:assert/strict'
import type { NewEvent } from '../../src/shared/session/events.ts'
import { applyEvent, emptyLog, type LogState } from '../../src/shared/session/log.ts'
import {
  assistantMessage,
  requestHeader,
  sessionStart,
  stepStart,
  toolResult,
  turnStart,
  userMessage,
} from '../../src/store/contract/sample-events.ts'

export const append = (state: LogState, ...events: NewEvent[]): LogState =>
  events.reduce((next, event) => applyEvent(next, { ...event, seq: next.nextSeq, time: 0 }), state)

/** 0 session/start, 1 request/header */
export const opened = () => append(emptyLog(), sessionStart(), requestHeader())
/** 2 and 3: two user messages of 5 and 7 tokens */
export const withMessages = () => append(opened(), userMessage('a', 'hello'), userMessage('b', 'and bye'))
/** 2 turn/start, 3 prompt, 4 step/start, 5 assistant with a call, 6 its result (10 tokens) */
export const result = toolResult(1, 1, 'c1', '0123456789')
export const inTurn = () =>
  append(
    opened(),
    turnStart(1),
    userMessage('a', 'hello', { turn: 1 }),
    stepStart(1, 1),
    assistantMessage(1, 1, 'look', ['c1']),
    result,
  )
export const seqsOf = (state: LogState) => state.surface.map((node) => node.seq)

export function refuses(state: LogState, rule: RegExp, ...events: NewEvent[]): void {
  const last = events.at(-1)
  assert.ok(last)
  const before = append(state, ...events.slice(0, -1))
  const snapshot = JSON.stringify(before)
  assert.throws(
    () => append(before, last),
    (error: Error) => {
      assert.equal(error.name, 'LogRejected')
      assert.match(error.message, rule)
      return true
    },
  )
  assert.equal(JSON.stringify(before), snapshot, 'a rejected event leaves the state as it was')
}
