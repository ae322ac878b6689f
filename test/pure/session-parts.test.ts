import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { canonicalJson } from '../../src/shared/session/canonical-json.ts'
import {
  contentSchema,
  isText,
  isThinking,
  isToolResult,
  isToolUse,
} from '../../src/shared/session/content.ts'
import { eventFacts } from '../../src/shared/session/event-facts.ts'
import { isSurfaceType, parseEventData, type SessionEvent } from '../../src/shared/session/events.ts'
import { hash53, isConfiguredKey, keys } from '../../src/shared/session/keys.ts'
import { emptyLog } from '../../src/shared/session/log.ts'
import { surfaceAt } from '../../src/shared/session/surface-at.ts'
import {
  assistantMessage,
  requestHeader,
  sessionStart,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from '../../src/store/contract/sample-events.ts'
import { append } from './log-builder.ts'

describe('canonical JSON', () => {
  test('has its keys in order, at every depth, and nothing without a value', () => {
    assert.equal(
      canonicalJson({ b: 1, a: { d: [{ f: 1, e: 2 }], c: null } }),
      '{"a":{"c":null,"d":[{"e":2,"f":1}]},"b":1}',
    )
    assert.equal(canonicalJson({ b: undefined, a: 'x' }), '{"a":"x"}')
    assert.equal(canonicalJson({ c: 1, a: 2, b: 3 }), '{"a":2,"b":3,"c":1}')
    assert.equal(canonicalJson([3, 1, 2]), '[3,1,2]')
    assert.equal(canonicalJson(null), 'null')
  })
})

describe('content blocks', () => {
  test('need a type, and keep every other field', () => {
    const blocks = [{ type: 'new_kind', any: { thing: 1 } }]
    assert.deepEqual(contentSchema.parse(blocks), blocks)
    for (const bad of [[{ type: '' }], [{}], [{ type: 7 }], ['text'], { type: 'text' }])
      assert.ok(!contentSchema.safeParse(bad).success, JSON.stringify(bad))
  })

  test('are known by their type and the fields that it needs', () => {
    assert.ok(isText({ type: 'text', text: '' }))
    assert.ok(!isText({ type: 'text' }) && !isText({ type: 'note', text: 'x' }))
    assert.ok(isToolUse({ type: 'tool_use', id: 'a', name: 'b', input: {} }))
    assert.ok(!isToolUse({ type: 'tool_use', name: 'b' }) && !isToolUse({ type: 'tool_use', id: 'a' }))
    assert.ok(!isToolUse({ type: 'server_tool_use', id: 'a', name: 'b' }))
    assert.ok(isToolResult({ type: 'tool_result', tool_use_id: 'a' }))
    assert.ok(!isToolResult({ type: 'tool_result' }) && !isToolResult({ type: 'x', tool_use_id: 'a' }))
    assert.ok(isThinking({ type: 'thinking' }) && isThinking({ type: 'redacted_thinking' }))
    assert.ok(!isThinking({ type: 'text' }))
  })
})

describe('events', () => {
  test('have data of their type, and only messages stand on the surface', () => {
    assert.deepEqual(parseEventData('turn/start', { turn: 1, requestId: 'r' }), { turn: 1, requestId: 'r' })
    assert.throws(() => parseEventData('turn/start', { turn: 0, requestId: 'r' }))
    assert.throws(() => parseEventData('session/close', { because: 'x' }))
    assert.deepEqual(
      ['user/message', 'assistant/message', 'tool/result', 'tool/output', 'turn/start'].map(isSurfaceType),
      [true, true, true, false, false],
    )
  })

  test('the facts of an event are its ids, names and states, never its content', () => {
    assert.deepEqual(eventFacts(turnStart(1, 'r')), { requestId: 'r' })
    assert.deepEqual(eventFacts(turnEnd(1)), { reason: 'completed' })
    assert.deepEqual(eventFacts(assistantMessage(1, 1, 'look', ['c1', 'c2'])), {
      calls: [
        { callId: 'c1', name: 'read_file' },
        { callId: 'c2', name: 'read_file' },
      ],
    })
    assert.deepEqual(eventFacts(toolResult(1, 1, 'c1', 'secret')), {
      callId: 'c1',
      name: 'read_file',
      isError: false,
    })
    assert.deepEqual(eventFacts(userMessage('a', 'hello')), { source: 'import' })
    const said = userMessage('a', 'hello')
    const answering = {
      ...said,
      data: { ...said.data, content: [...said.data.content, { type: 'tool_result', tool_use_id: 'c9' }] },
    }
    assert.deepEqual(eventFacts(answering), { source: 'import', answers: ['c9'] })
    assert.equal(eventFacts(sessionStart()), null)
  })
})

describe('keys', () => {
  test('hold a plain id as it is and any other as its hash', () => {
    assert.equal(keys.prompt('Ab-9_'), 'prompt.Ab-9_')
    const odd = keys.prompt('a.b')
    assert.match(odd, /^prompt\.h\.[0-9a-z]{16,24}$/)
    assert.equal(odd, keys.prompt('a.b'))
    assert.notEqual(odd, keys.prompt('a.c'))
    assert.match(keys.prompt('x'.repeat(65)), /^prompt\.h\./)
    assert.equal(keys.toolResult(2, 3, 'c1'), 't2.s3.tool.c1')
    assert.equal(keys.said(1, 2, 0, 'hello'), 't1.s2.said.0.hello')
  })

  // A store holds them for ever.
  test('have hashes that never change', () => {
    assert.equal(hash53(''), 3_338_908_027_751_811)
    assert.equal(hash53('a'), 7_929_297_801_672_961)
    assert.equal(hash53('a', 1), 5_368_154_436_228_575)
    assert.equal(hash53('the quick brown fox'), 499_755_596_815_106)
    assert.equal(hash53('日本'), 402_342_642_078_485)
  })

  test('of a header that somebody asked for have no place behind them', () => {
    for (const id of ['r1', 'a.b', 'x'.repeat(80)]) assert.ok(isConfiguredKey(keys.configured(id)), id)
    for (const key of [
      keys.header('d'),
      keys.headerAfter('d', 7),
      keys.prompt('r1'),
      'x.header.r1',
      'header.',
    ])
      assert.ok(!isConfiguredKey(key), key)
  })
})

describe('the surface before an event', () => {
  const state = append(
    emptyLog(),
    sessionStart(),
    requestHeader(),
    userMessage('a', 'one'),
    userMessage('b', 'two'),
  )
  const log: SessionEvent[] = [
    sessionStart(),
    requestHeader(),
    userMessage('a', 'one'),
    userMessage('b', 'two'),
  ].map((event, seq) => ({ ...event, seq, time: 0 }) as SessionEvent)
  const asked: unknown[] = []
  const store = (most: number) => ({
    events: async (sessionId: string, query: { after?: number; limit?: number }) => {
      asked.push([sessionId, query])
      const { after = -1, limit = 99 } = query
      return log.slice(after + 1, after + 1 + Math.min(limit, most))
    },
  })

  test('holds what stands before it, page by page', async () => {
    assert.equal(state.surface.length, 2)
    const seqs = async (seq: number, most = 99) =>
      (await surfaceAt(store(most), 's', seq)).map((node) => node.seq)
    assert.deepEqual(await seqs(0), [])
    assert.deepEqual(await seqs(2), [])
    assert.deepEqual(await seqs(3), [2])
    asked.length = 0
    assert.deepEqual(await seqs(4, 3), [2, 3])
    assert.deepEqual(asked, [
      ['s', { after: -1, limit: 4 }],
      ['s', { after: 2, limit: 1 }],
    ])
  })

  test('asks for a page of a thousand at most', async () => {
    asked.length = 0
    await assert.rejects(surfaceAt(store(99), 's', 5000), /The log ends at 4, before event 5000/)
    assert.deepEqual(asked[0], ['s', { after: -1, limit: 1000 }])
  })
})
