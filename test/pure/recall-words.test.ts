import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Ajv } from 'ajv'
import { COMPACT_CHECKPOINT_SOURCE } from '../../src/shared/checkpoint-source.ts'
import { contentText, eventTitle, isRecalled, type Recalled } from '../../src/shared/recall/event-text.ts'
import { foldCase, unfoldedIndex } from '../../src/shared/recall/fold-case.ts'
import {
  HISTORY_TOOL,
  offersHistory,
  QUERY_MAX_CHARS,
  readBack,
} from '../../src/shared/recall/history-tool.ts'
import type { MessageSource, SessionEvent } from '../../src/shared/session/events.ts'

const place = { seq: 3, time: 0, key: 'k', turn: 1, step: 1, tokens: 0, surfaceOp: 'append' } as const
const user = (source: MessageSource): Recalled => ({
  ...place,
  type: 'user/message',
  data: { content: [], source },
})
const result = (isError: boolean, name = 'bash'): Recalled => ({
  ...place,
  type: 'tool/result',
  data: { callId: 'c', name, content: [], isError },
})
const reply: Recalled = {
  ...place,
  type: 'assistant/message',
  data: { content: [], usage: null, stopReason: 'end_turn', provider: 'p', model: 'm' },
}
const { surfaceOp: _, ...noNode } = place
const output = (droppedBytes: number): Recalled => ({
  ...noNode,
  type: 'tool/output',
  data: { callId: 'c', name: 'bash', content: [], droppedBytes },
})
const stepEnd: SessionEvent = { ...noNode, type: 'step/end', data: { turn: 1, step: 1 } }

describe('events that can be read back', () => {
  test('are messages, results and whole outputs, and nothing else', () => {
    for (const event of [user('prompt'), reply, result(false), output(0)])
      assert.equal(isRecalled(event), true)
    assert.equal(isRecalled(stepEnd), false)
  })

  test('say who wrote them', () => {
    assert.equal(eventTitle(user('prompt')), 'the user')
    assert.equal(eventTitle(user('import')), 'the user')
    assert.equal(eventTitle(user('context')), 'context')
    assert.equal(eventTitle(user('notice')), 'a notice')
    assert.equal(eventTitle(user(COMPACT_CHECKPOINT_SOURCE)), 'an earlier checkpoint')
    assert.equal(eventTitle(reply), 'you')
    assert.equal(eventTitle(result(false)), 'result of bash')
    assert.equal(eventTitle(result(true)), 'result of bash, an error')
    assert.equal(eventTitle(output(0)), 'whole output of bash')
    assert.equal(eventTitle(result(false, 'n'.repeat(500))), `result of ${'n'.repeat(64)}`)
  })

  test('calls and results of servers are read as those of workers; values without words are left out', () => {
    const said = contentText([
      {
        type: 'server_tool_use',
        id: 's',
        name: 'web_search',
        input: { query: 'tides', page: 2, left: undefined },
      },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [{ type: 'text', text: 'high at noon' }] },
      { type: 'document', source: { type: 'url', url: 'https://x.test/a' } },
    ])
    assert.equal(
      said,
      '→ web_search\nquery: tides\npage: 2\nleft: \nhigh at noon\n[document]\nsource: type: url\nurl: https://x.test/a',
    )
  })
})

describe('the fold', () => {
  test('makes one of letters that differ in case or composition, and of the slashes of paths', () => {
    for (const [one, other] of [
      ['ΟΔΟΣ', 'οδος'],
      ['STRASSE', 'straße'],
      ['e\u0301', 'É'],
      ['C:\\a', 'c:/A'],
      ['C:\\\\a\\\\\\b', 'c:/a/b'],
    ] as const)
      assert.equal(foldCase(one), foldCase(other), one)
    assert.notEqual(foldCase('a.b'), foldCase('a-b'))
  })

  test('a place behind backslashes is found, however many they are', () => {
    for (const before of ['\\', '\\\\', 'a\\b', 'a\\\\\\b', 'a\\b\\\\', '\\\\\\'])
      assert.equal(
        unfoldedIndex(`${before}Needle`, foldCase(`${before}Needle`).indexOf('needle')),
        before.length,
        before,
      )
    assert.equal(unfoldedIndex('a\\\\b', 1), 1)
  })

  test('a place in the middle of a folded letter is that letter, one behind the end is the end', () => {
    assert.equal(unfoldedIndex('ßx', 1), 0)
    assert.equal(unfoldedIndex('abc', 3), 3)
    assert.equal(unfoldedIndex('abc', 10), 3)
    assert.equal(unfoldedIndex('abc', 0), 0)
  })
})

describe('the history tool', () => {
  test('takes a query, a number, and where to go on, and nothing else', () => {
    const takes = new Ajv().compile(HISTORY_TOOL.inputSchema)
    for (const input of [
      { query: 'x' },
      { query: 'x'.repeat(QUERY_MAX_CHARS), from: 10 },
      { seq: 0 },
      { seq: 7, from: 0 },
    ])
      assert.equal(takes(input), true, JSON.stringify(input))
    for (const input of [
      { query: 'x'.repeat(QUERY_MAX_CHARS + 1) },
      { query: 7 },
      { seq: -1 },
      { seq: '7' },
      { seq: 7, from: -1 },
      { seq: 7, from: 'x' },
      { text: 'x' },
      'x',
    ])
      assert.equal(takes(input), false, JSON.stringify(input))
  })

  test('is what a marker names when the model has it', () => {
    const other = { ...HISTORY_TOOL, name: 'bash' }
    assert.equal(offersHistory({ tools: [other, HISTORY_TOOL] }), true)
    assert.equal(offersHistory({ tools: [other] }), false)
    assert.equal(offersHistory({ tools: [] }), false)
    assert.equal(readBack(7, 'all of it', true), 'history {"seq": 7} reads all of it')
    assert.equal(readBack(7, 'all of it', false), 'all of it is event #7')
  })
})
