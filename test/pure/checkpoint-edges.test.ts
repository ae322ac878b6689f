import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { archivePathOf, archiveText } from '../../src/shared/compaction/archive.ts'
import { mergeStates } from '../../src/shared/compaction/carried-state.ts'
import { checkpointBudget, pinLimit, pinTokens } from '../../src/shared/compaction/checkpoint-budget.ts'
import { ledgerMessages } from '../../src/shared/compaction/checkpoint-messages.ts'
import { isCheckpointNode } from '../../src/shared/compaction/checkpoint-node.ts'
import type { CheckpointState, Pin } from '../../src/shared/compaction/checkpoint-state.ts'
import { renderFrame, renderPins } from '../../src/shared/compaction/checkpoint-text.ts'
import { standingPinTokens } from '../../src/shared/compaction/pins.ts'
import { coversOf, renderPointer } from '../../src/shared/compaction/pointer.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { testPolicy } from './checkpoint-fixtures.ts'
import { surface } from './surface-builder.ts'

const state = (over: Partial<CheckpointState> = {}): CheckpointState => ({
  v: 1,
  items: [],
  said: { start: [], newest: [], leftOut: 0 },
  errors: [],
  assistantTexts: [],
  pins: [],
  covers: { messages: 1, tokens: 1, firstSeq: 0, lastSeq: 0 },
  ...over,
})
const item = (value: string, over: object = {}) => ({ kind: 'name' as const, value, n: 1, last: 4, ...over })
const error = (key: string, last = 3) => ({ key, command: key, detail: 'no', last })
const words = (value: string) => ({ text: value })

describe('states of several checkpoints in one', () => {
  const merge = (...states: CheckpointState[]) =>
    mergeStates(states.map((each, position) => ({ position, state: each })))

  test('none is none, one is itself with ages from the start of the span', () => {
    assert.equal(mergeStates([]), undefined)
    const one = mergeStates([{ position: 3, state: state({ items: [item('a')], errors: [error('e', 5)] }) }])
    assert.deepEqual([one?.items, one?.errors], [[item('a', { last: 1 })], [error('e', 2)]])
  })

  test('items add up, the newest mention and the later words about it count', () => {
    const merged = merge(
      state({
        items: [
          item('a', { n: 2, label: 'x', edits: 1 }),
          item('b'),
          item('c', { runs: 2 }),
          item('d', { edits: 2, runs: 1 }),
        ],
      }),
      state({
        items: [
          item('a', { n: 3, last: 9, label: 'y' }),
          item('e'),
          item('c', { runs: 3 }),
          item('d', { edits: 5, last: 1 }),
        ],
      }),
    )
    assert.deepEqual(merged?.items, [
      item('a', { n: 5, last: 4, label: 'y', edits: 1 }),
      item('b'),
      item('c', { n: 2, last: 3, runs: 5 }),
      item('d', { n: 2, last: 0, edits: 7, runs: 1 }),
      item('e', { last: 3 }),
    ])
  })

  test('what only some have is kept, the later plan and error count, texts and summaries follow each other', () => {
    const plan = { open: [{ text: 'x', active: true }], done: 0 }
    const done = [{ call: 'send', result: 'ok', times: 1 }]
    const first = state({
      plan,
      done,
      errors: [error('a'), error('b')],
      assistantTexts: ['one'],
      earlierSummary: 'early',
    })
    const second = state({
      errors: [{ ...error('b', 8), detail: 'again' }],
      assistantTexts: ['two'],
      earlierSummary: 'late',
    })
    const merged = merge(first, second)
    assert.deepEqual(merged, {
      v: 1,
      items: [],
      said: { start: [], newest: [], leftOut: 0 },
      plan,
      errors: [error('a'), { ...error('b', 7), detail: 'again' }],
      done,
      assistantTexts: ['one', 'two'],
      earlierSummary: 'early\n\nlate',
    })
    const other = { open: [], done: 3 }
    assert.deepEqual(merge(first, state({ plan: other, done }))?.plan, other)
    assert.deepEqual(merge(first, state({ done }))?.done, [{ call: 'send', result: 'ok', times: 2 }])
    assert.equal(merge(first, state())?.earlierSummary, 'early')
    assert.deepEqual(Object.keys(merge(state(), state()) ?? {}), [
      'v',
      'items',
      'said',
      'errors',
      'assistantTexts',
    ])
  })

  test("the user's words have one gap at most", () => {
    const said = (start: string[], newest: string[], leftOut: number) => ({
      start: start.map(words),
      newest: newest.map(words),
      leftOut,
    })
    const merged = (a: ReturnType<typeof said>, b: ReturnType<typeof said>) =>
      merge(state({ said: a }), state({ said: b }))?.said
    assert.deepEqual(merged(said(['a'], ['b'], 0), said(['c'], ['d'], 5)), said(['a', 'b', 'c'], ['d'], 5))
    assert.deepEqual(merged(said(['a'], ['b'], 2), said(['c'], ['d'], 5)), said(['a'], ['b', 'c', 'd'], 7))
  })
})

describe('parts of a checkpoint', () => {
  const pin = (source: Pin['source'], over: Partial<Pin> = {}): Pin => ({
    id: 'p',
    source,
    text: 'T',
    ...over,
  })

  test('the frame: prefix, numbers for people, why it stands there', () => {
    const covers = (messages: number, tokens: number) => ({ messages, tokens, firstSeq: 0, lastSeq: 1 })
    const frame = renderFrame(covers(1, 999), { prefix: '' })
    assert.match(frame, /^\[Checkpoint written by code\. It replaces 1 earlier message \(about 999 tokens\)/)
    assert.ok(!frame.includes('\n'))
    for (const [tokens, printed] of [
      [1_000, '1,000'],
      [98_400, '98,400'],
      [123_456, '123,456'],
      [1_234_567, '1,234,567'],
    ] as const)
      assert.ok(
        renderFrame(covers(2, tokens), { prefix: '' }).includes(
          `2 earlier messages (about ${printed} tokens)`,
        ),
      )
    const whole = renderFrame(covers(2, 5), { prefix: '[compressed]', notice: 'You asked for it.' }).split(
      '\n',
    )
    assert.deepEqual([whole.length, whole[0], whole.at(-1)], [3, '[compressed]', '[You asked for it.]'])
  })

  test('pins with where they come from, and the number of those that were left out', () => {
    assert.equal(renderPins([], []), '')
    assert.equal(
      renderPins(
        [
          pin('policy'),
          pin('keep', { seq: 3 }),
          pin('tool', { seq: 4, tool: 'rules' }),
          pin('tool'),
          pin('session', { seq: 0 }),
        ],
        [],
      ),
      [
        '## Pinned (verbatim)',
        ...['standing rule', 'the user [#3]', 'result of rules [#4]', 'result of a tool', 'pinned [#0]'].map(
          (origin) => `${origin}\n\`\`\`\nT\n\`\`\``,
        ),
      ].join('\n'),
    )
    assert.equal(
      renderPins([], [pin('keep')]),
      '## Pinned (verbatim)\n[1 pin left out for their size: the user]',
    )
    const many = renderPins(
      [pin('policy')],
      Array.from({ length: 12 }, (_, seq) => pin('session', { seq })),
    )
    assert.match(many, /\n\[12 pins left out for their size: pinned \[#0\], .*pinned \[#9\]\]$/)
  })

  test('the pointer: events, ways to read them, and what cannot be seen any more', () => {
    const covers = { messages: 2, tokens: 5, firstSeq: 3, lastSeq: 9 }
    assert.equal(
      renderPointer(covers, {}),
      '[This stands for events #3 to #9 of the session, which are kept word for word. [#number] cites one of them.]',
    )
    assert.match(renderPointer(covers, { historyTool: true }), /history \{"seq": 9\}.*\[#9\] cites it\.\]$/)
    assert.match(renderPointer(covers, { archivePath: 'a/b.jsonl' }), / All of it: "a\/b\.jsonl"\.\]$/)
    assert.match(
      renderPointer({ ...covers, media: [4, 7] }, {}),
      /not visible any more, the newest are in #4, #7: look/,
    )
  })

  test('it stands for all events of its span, also through earlier checkpoints, and names the newest six with media', () => {
    const image = { type: 'image', source: { type: 'url', url: 'x' } }
    const builder = surface().user('a', 'prompt', { tokens: 5 }).checkpoint('c', { seq: 30, tokens: 7 })
    for (let at = 0; at < 8; at++) builder.user([image], 'prompt', { tokens: 1 })
    const earlier = { messages: 10, tokens: 100, firstSeq: 1, lastSeq: 29, media: [2] }
    assert.deepEqual(
      coversOf(builder.nodes, (node) => (node.seq === 30 ? earlier : undefined)),
      { messages: 19, tokens: 113, firstSeq: 0, lastSeq: 38, media: [33, 34, 35, 36, 37, 38] },
    )
    assert.deepEqual(
      coversOf(builder.nodes.slice(0, 1), () => undefined),
      { messages: 1, tokens: 5, firstSeq: 0, lastSeq: 0 },
    )
  })

  test('a checkpoint node is a message of its source', () => {
    const { nodes } = surface().checkpoint('c').user('u').reply('r').result('x', 'y')
    assert.deepEqual(nodes.map(isCheckpointNode), [true, false, false, false])
    const forged = { ...nodes[2], data: { ...nodes[2]?.data, source: 'durable-compaction/checkpoint' } }
    assert.equal(isCheckpointNode(forged as never), false)
  })

  test('a kept text that is pinned is not quoted again, another is', () => {
    const { nodes } = surface().user('a <keep>x</keep> b')
    const quoted = (pins: Pin[]) => JSON.stringify(ledgerMessages(nodes, pins)[0]?.blocks)
    assert.match(quoted([pin('keep', { text: 'x' })]), /a \[pinned\] b/)
    assert.match(quoted([pin('session', { text: 'x' })]), /a <keep>x<\/keep> b/)
    assert.match(quoted([]), /a <keep>x<\/keep> b/)
  })
})

describe('budgets', () => {
  test('pins have half of a checkpoint, 2,000 tokens at most', () => {
    assert.deepEqual(
      [pinLimit({ checkpointLimitTokens: 3_001 }), pinLimit({ checkpointLimitTokens: 9_000 })],
      [1_500, 2_000],
    )
    assert.equal(
      pinTokens('abcd', (value) => value.length),
      14,
    )
  })

  test('parts together are what there is', () => {
    const of = (policy: Partial<Parameters<typeof checkpointBudget>[0]>, pins = 0) =>
      checkpointBudget(
        {
          checkpointTokens: 6_000,
          userTextTokens: 4_000,
          checkpointLimitTokens: 12_000,
          summaryMaxTokens: 8_192,
          ...policy,
        },
        pins,
      )
    assert.deepEqual(of({}), {
      userTextTokens: 4_000,
      stateTokens: 300,
      listTokens: 3_000,
      summaryAskTokens: 1_800,
      summaryLimitTokens: 2_700,
    })
    assert.deepEqual(of({ summaryMaxTokens: 1_500 }).summaryLimitTokens, 1_000)
    assert.deepEqual(of({ checkpointTokens: 2_000 }), {
      userTextTokens: 4_000,
      stateTokens: 200,
      listTokens: 500,
      summaryAskTokens: 866,
      summaryLimitTokens: 1_300,
    })
    const tight = of({}, 8_000)
    assert.deepEqual(tight, {
      userTextTokens: 500,
      stateTokens: 300,
      listTokens: 875,
      summaryAskTokens: 1_550,
      summaryLimitTokens: 2_325,
    })
    assert.deepEqual(of({}, 20_000), {
      userTextTokens: 0,
      stateTokens: 0,
      listTokens: 0,
      summaryAskTokens: 0,
      summaryLimitTokens: 0,
    })
  })

  test('what stands in every checkpoint: texts of the policy and of people, each once, but for one', () => {
    const event = (type: 'session/pin' | 'session/unpin' | 'session/close', data: object) =>
      ({ type, data }) as unknown as SessionEvent
    const events = [
      event('session/pin', { id: 'a', text: 'abcd' }),
      event('session/pin', { id: 'b', text: 'ab' }),
      event('session/pin', { id: 'c', text: 'rule' }),
      event('session/unpin', { id: 'b' }),
      event('session/close', { id: 'a' }),
    ]
    const input = {
      policy: testPolicy({ pins: { texts: ['rule', 'x'] } }),
      events,
      countTokens: (value: string) => value.length,
    }
    assert.equal(standingPinTokens(input), 4 + 1 + 4 + 3 * 10)
    assert.equal(standingPinTokens(input, 'abcd'), 4 + 1 + 2 * 10)
  })
})

describe('the archive', () => {
  test('its path has no slash too many', () => {
    const path = (folder: string) =>
      archivePathOf(folder, { sessionId: 's', compactionId: 'c', startedAt: 0 })
    assert.equal(path('a//b///'), 'a//b/s/transcript_1970-01-01T00-00-00-000Z_c.jsonl')
    assert.equal(path('/'), '/s/transcript_1970-01-01T00-00-00-000Z_c.jsonl')
  })

  test('names of 180 bytes stand as they are, longer ones end with a hash; dots alone are coded', () => {
    const name = (sessionId: string) =>
      archivePathOf('f', { sessionId, compactionId: 'c', startedAt: 0 }).split('/')[1] ?? ''
    assert.equal(name('x'.repeat(180)), 'x'.repeat(180))
    assert.match(name('x'.repeat(181)), /^x{156}\.[0-9a-z]{16,24}$/)
    assert.deepEqual([name('a..'), name('..'), name('a b'), name('😀')], ['a..', '%2E%2E', 'a%20b', '%1F600'])
  })

  test('is one line for each event of the surface', () => {
    const { nodes } = surface().user('a\nb').reply('c')
    assert.deepEqual(
      archiveText(nodes)
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
      nodes,
    )
    assert.ok(archiveText(nodes).endsWith('\n'))
    assert.equal(archiveText([]), '')
  })
})
