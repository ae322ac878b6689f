import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { applyBatch, applyEvent, emptyLog } from '../../src/shared/session/log.ts'
import {
  assistantMessage,
  checkpoint,
  compactStart,
  endSeed,
  requestHeader,
  sessionClose,
  sessionStart,
  shadowCopy,
  stepEnd,
  stepStart,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from '../../src/store/contract/sample-events.ts'
import { append, inTurn, opened, refuses, result, seqsOf, withMessages } from './log-builder.ts'

describe('place of an event', () => {
  it('takes the next seq only', () => {
    const event: SessionEvent = { ...userMessage('x', 'x'), seq: 3, time: 0 }
    assert.throws(() => applyEvent(opened(), event), /next seq is 2/)
    assert.throws(() => applyEvent(opened(), { ...event, seq: 1 }), /next seq is 2/)
  })
  it('takes each key once', () =>
    refuses(opened(), /event 2 has this key/, userMessage('a', '1'), userMessage('a', '2')))
  it('takes no empty key', () => refuses(opened(), /key is empty/, { ...userMessage('a', '1'), key: '' }))
  it('begins with session/start', () =>
    refuses(emptyLog(), /begins with session\/start/, userMessage('a', '1')))
  it('starts once', () =>
    refuses(opened(), /begins with session\/start/, { ...sessionStart(), key: 'again' }))
  it('cites earlier events only', () => {
    refuses(opened(), /cites event 2/, { ...userMessage('a', '1'), sourceEventSeqs: [2] })
    refuses(opened(), /cites event -1/, { ...userMessage('a', '1'), sourceEventSeqs: [-1] })
  })
})

describe('turns and steps', () => {
  it('number turns without gaps', () => {
    refuses(opened(), /next turn is 1/, turnStart(2))
    refuses(inTurn(), /turn 1 is open/, turnStart(2))
    assert.equal(append(inTurn(), stepEnd(1, 1), turnEnd(1), turnStart(2)).openTurn, 2)
  })
  it('number steps without gaps', () => {
    refuses(inTurn(), /step 1 is open/, stepStart(1, 2))
    refuses(inTurn(), /next step is 2/, stepEnd(1, 1), stepStart(1, 3))
    refuses(inTurn(), /next step is 2/, stepEnd(1, 1), { ...stepStart(1, 1), key: 'again' })
    refuses(inTurn(), /open step 1|open step is 1/, stepEnd(1, 2))
    refuses(inTurn(), /open step is 1/, { ...stepEnd(1, 2), step: null })
    refuses(inTurn(), /open step is 1/, { ...stepEnd(1, 1), data: { turn: 2, step: 1 } })
    refuses(inTurn(), /open turn is 1/, stepEnd(1, 1), { ...stepStart(1, 2), data: { turn: 2, step: 2 } })
    refuses(inTurn(), /open turn is 1/, stepEnd(1, 1), { ...stepStart(1, 2), turn: null, step: null })
    refuses(inTurn(), /next step is 2/, stepEnd(1, 1), { ...stepStart(1, 2), step: null })
    refuses(opened(), /its turn is 1/, stepStart(1, 1))
  })
  it('bound what belongs to them', () => {
    refuses(opened(), /its turn is 1, the open turn none/, userMessage('z', 'late', { turn: 1 }))
    refuses(inTurn(), /its turn is 2, the open turn 1/, userMessage('z', 'late', { turn: 2 }))
    refuses(inTurn(), /its step is 2, the open step 1/, userMessage('z', 'early', { turn: 1, step: 2 }))
    refuses(inTurn(), /its step is 1, the open step none/, stepEnd(1, 1), toolResult(1, 1, 'c2', 'late'))
    refuses(inTurn(), /its step is 1/, userMessage('z', 'no turn', { turn: null, step: 1 }))
    assert.equal(append(inTurn(), userMessage('z', 'of no turn')).nextSeq, 8)
  })
  it('end a turn after its steps, once', () => {
    refuses(inTurn(), /step 1 is open/, turnEnd(1))
    refuses(inTurn(), /open turn is none|its turn is 1/, stepEnd(1, 1), turnEnd(1), {
      ...turnEnd(1),
      key: 'again',
    })
    const ended = append(inTurn(), stepEnd(1, 1), turnEnd(1))
    assert.deepEqual([ended.openTurn, ended.lastTurn, ended.lastStep], [null, 1, 0])
  })
  it('the events of a turn say its number', () => {
    refuses(opened(), /next turn is 1/, { ...turnStart(1), turn: null })
    refuses(inTurn(), /open turn is 1/, stepEnd(1, 1), { ...turnEnd(1), turn: null })
    refuses(inTurn(), /open turn is 1/, stepEnd(1, 1), {
      ...turnEnd(1),
      data: { turn: 2, reason: 'completed' },
    })
  })
})

describe('lives', () => {
  it('a new life opens a closed session, a closed one takes no turn', () => {
    refuses(opened(), /is closed/, sessionClose('q'), turnStart(1))
    refuses(opened(), /closed already/, sessionClose('q'), sessionClose('q2'))
    const again = append(opened(), sessionClose('q'), endSeed(2), turnStart(1))
    assert.deepEqual([again.life, again.closed], [2, false])
  })
  it('a life ends between turns and compactions', () => {
    refuses(inTurn(), /after its turn/, endSeed(2))
    refuses(opened(), /after its turn/, compactStart('m'), endSeed(2))
  })
  it('the newest header counts', () => assert.equal(append(opened(), requestHeader('h2')).headerSeq, 2))
})

describe('surface operations', () => {
  it('stand on messages only', () => {
    refuses(opened(), /does not stand on the surface/, { ...sessionClose('q'), surfaceOp: 'append' })
    const { surfaceOp: _, ...bare } = userMessage('a', 'x')
    refuses(opened(), /needs a surface operation/, bare)
    refuses(inTurn(), /only compact\/restore/, {
      ...toolResult(1, 1, 'c2', 'x'),
      surfaceOp: { op: 'restore', node: 6 },
    })
  })
  it('append keeps the order of the log', () => assert.deepEqual(seqsOf(withMessages()), [2, 3]))
  it('only a checkpoint replaces a span', () => {
    refuses(withMessages(), /exactly one user\/message/, {
      ...userMessage('x', 'x'),
      surfaceOp: { op: 'replace', start: 2, end: 3 },
    })
    refuses(inTurn(), /can only be appended/, {
      ...assistantMessage(1, 1, 'x'),
      key: 'x',
      surfaceOp: { op: 'replace', start: 3, end: 3 },
    })
    refuses(withMessages(), /a checkpoint replaces a span/, {
      ...checkpoint('m', [2, 3]),
      surfaceOp: 'append',
    })
  })
})

describe('shadow copies', () => {
  const [price, copy] = shadowCopy(result, 6)
  it('take the place of one result', () => {
    const state = append(inTurn(), userMessage('z', 'next'), price, copy)
    assert.deepEqual(seqsOf(state), [3, 5, 9, 7])
    assert.equal(state.generation, 1)
  })
  it('need the exact price directly before', () => {
    refuses(inTurn(), /price must stand directly before/, copy)
    refuses(inTurn(), /copy of node 6 must follow/, price, userMessage('z', 'between'))
    refuses(inTurn(), /copy of node 6 must follow/, price, compactStart('m', 1))
    refuses(inTurn(), /copy of node 6 must follow/, price, toolResult(1, 1, 'c2', 'other'))
    refuses(inTurn(), /has 10 tokens, shadowedTokenCount is 9/, {
      ...price,
      data: { ...price.data, shadowedTokenCount: 9 },
    })
    for (const [start, end, shadowedSeqs] of [
      [6, 7, [6]],
      [6, 6, [6, 5]],
      [6, 6, [5]],
    ] as const) {
      const data = { ...price.data, shadowedRange: { start, end }, shadowedSeqs: [...shadowedSeqs] }
      refuses(inTurn(), /exactly one node/, { ...price, data })
    }
    refuses(inTurn(), /node 4 is not on the surface/, {
      ...price,
      data: { ...price.data, shadowedSeqs: [4], shadowedRange: { start: 4, end: 4 } },
    })
  })
  it('shadow exactly one tool result', () => {
    refuses(inTurn(), /exactly one tool\/result/, price, {
      ...copy,
      surfaceOp: { op: 'replace', start: 5, end: 6 },
    })
    const [priceOfPrompt, copyOfPrompt] = shadowCopy({ ...result, tokens: 5 }, 3)
    refuses(inTurn(), /exactly one tool\/result/, priceOfPrompt, copyOfPrompt)
    const second = toolResult(1, 1, 'c2', 'other')
    refuses(append(inTurn(), second), /exactly one tool\/result/, price, {
      ...copy,
      surfaceOp: { op: 'replace', start: 6, end: 7 },
      sourceEventSeqs: [6, 7],
    })
    const [, copyOfSecond] = shadowCopy(second, 7)
    refuses(append(inTurn(), second), /price must stand directly before/, price, copyOfSecond)
  })
  it('of a message: one message that is no checkpoint, with its source', () => {
    const said = userMessage('x', 'an image')
    const [priceOfSaid, copyOfSaid] = shadowCopy(said, 4)
    const state = append(withMessages(), said, priceOfSaid, copyOfSaid)
    assert.deepEqual(seqsOf(state), [2, 3, 6])
    refuses(append(withMessages(), said), /price must stand directly before/, copyOfSaid)
    refuses(append(withMessages(), said), /only the content may differ/, priceOfSaid, {
      ...copyOfSaid,
      data: { ...copyOfSaid.data, source: 'context' },
    })
  })
  it('change the content only', () => {
    for (const change of [{ isError: true }, { name: 'x' }, { callId: 'x' }, { full: 1 }]) {
      refuses(inTurn(), /only the content may differ/, price, { ...copy, data: { ...copy.data, ...change } })
    }
  })
  it('cite their original', () =>
    refuses(inTurn(), /does not cite node 6/, price, { ...copy, sourceEventSeqs: [5] }))
  it('a node is shadowed once', () =>
    refuses(inTurn(), /not on the surface/, price, copy, { ...price, key: 'again' }))
  it('a copy can be copied', () => {
    const [price2, copy2] = shadowCopy({ ...result, tokens: 1 }, 8, '')
    assert.deepEqual(seqsOf(append(inTurn(), price, copy, price2, copy2)), [3, 5, 10])
  })
  it('a batch does not end between price and copy', () => {
    assert.throws(
      () => applyBatch(inTurn(), { turn: 1, events: [price] }, 0),
      /must follow in the same batch/,
    )
    assert.equal(applyBatch(inTurn(), { turn: 1, events: [price, copy] }, 0).generation, 1)
  })
})
