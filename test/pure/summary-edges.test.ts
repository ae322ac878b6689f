import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { holdsCallMarkup } from '../../src/shared/compaction/call-markup.ts'
import { halve, shorten } from '../../src/shared/compaction/message-parts.ts'
import { headTokens } from '../../src/shared/compaction/message-size.ts'
import { describeLast, replyRoom, withInstruction } from '../../src/shared/compaction/summary-request.ts'
import { fits, headFor, type SummaryRun, usableTokens } from '../../src/shared/compaction/summary-run.ts'
import { ContextOverflowError, type ModelRequest, RefusedMediaError } from '../../src/shared/ports/model.ts'
import { SummaryFailed } from '../../src/shared/ports/summarizer.ts'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import {
  assistant,
  attempt,
  conversation,
  countTokens,
  inputFor,
  lastText,
  overflow,
  priceContent,
  toolResult,
  toolUse,
  user,
} from './summarizer-fixtures.ts'

const NOTE = 'The proxy drops the first request.'
const image: ContentBlock = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }

describe('text in which a model wrote a call', () => {
  for (const markup of [
    '<invoke name="bash">',
    '<invoke  name = "bash">',
    '<INVOKE name=',
    '<function=read_file>',
    '<tool_call>{',
    '<tool_calls> [',
    '<x:tool_use>\n<',
    '<tool_code>[',
    '<function_call> {',
    '<a-b:function_calls><',
    '<|tool_call|>',
    '<｜tool▁calls▁begin｜>',
    '<|start|functions.x|>',
    '[TOOL_CALLS]',
    '{"type": "tool_use"',
    '{"type" :"function_call"',
    '"tool_calls": [',
    '"tool_calls" :[',
    '"function_call": {',
    '"function_call" :{',
    '{"name": "bash", "arguments": {}}',
    '{ "tool" : "x" , "input" : 1',
  ])
    test(markup, () => assert.ok(holdsCallMarkup(`I will\n${markup}`)))

  for (const prose of [
    '`<invoke name="bash">` is how it calls',
    'an <invoke> and a name=',
    '<tool_call> is the tag',
    '<tool_calls>x',
    '<function=>',
    'x < tool > y',
    '<|end|>',
    '[tool_calls]',
    '"type": "text"',
    '"tool_calls": 3',
    '"function_call": null',
    '{"name": "bash"}',
    'invoke name=',
  ])
    test(`${prose} is prose`, () => assert.ok(!holdsCallMarkup(prose)))
})

describe('the last message in a few words', () => {
  test('a result by its call, a text by its beginning, another block by its type', () => {
    const calls = [assistant(toolUse('c0', 'first'), toolUse('c1', 'second')), user(toolResult('c0', 'x'))]
    assert.equal(describeLast(calls), 'the result of the call "c0" of first')
    assert.equal(describeLast([user(toolResult('c9', 'x'))]), 'the result of the call "c9"')
    assert.equal(
      describeLast([...calls, assistant(toolUse('c0', 'again')), user(toolResult('c0', 'y'))]),
      'the result of the call "c0" of again',
    )
    assert.equal(
      describeLast([user('  hello "you"  ')]),
      'the user message that begins with "hello \\"you\\"  "',
    )
    assert.equal(
      describeLast([assistant('x'.repeat(100))]),
      `your message that begins with "${'x'.repeat(80)}"`,
    )
    assert.equal(describeLast([user('a', image)]), 'the user message with a block of type image at its end')
    assert.equal(describeLast([]), undefined)
    assert.equal(describeLast([{ role: 'user', content: [] }]), undefined)
  })

  test('the instruction ends the last message of the user, or is one', () => {
    assert.deepEqual(withInstruction([user('a')], [text('b')]), [user('a', 'b')])
    assert.deepEqual(withInstruction([user('a'), assistant('b')], [text('c')]), [
      user('a'),
      assistant('b'),
      user('c'),
    ])
    assert.deepEqual(withInstruction([], [text('c')]), [user('c')])
  })
})

describe('room for a reply', () => {
  const room = (
    tokens: number,
    contextWindow: number | null,
    maxOutputTokens: number | null,
    thinking?: unknown,
  ) => replyRoom(tokens, thinking === undefined ? {} : { thinking }, { contextWindow, maxOutputTokens })

  test('at most a quarter of the window, what the model writes, and thinking on top', () => {
    assert.equal(room(8_000, null, null), 8_000)
    assert.equal(room(8_000, 32_000, null), 8_000)
    assert.equal(room(8_000, 31_999, null), 7_999)
    assert.equal(room(8_000, null, 5_000), 5_000)
    assert.equal(room(8_000, 2, null), 1)
    assert.equal(room(8_000, 20_000, null, { type: 'enabled', budget_tokens: 1_000.5 }), 6_001)
    assert.equal(room(8_000, 20_000, 5_500, { type: 'enabled', budget_tokens: 1_000 }), 5_500)
    for (const thinking of [
      null,
      'x',
      {},
      { budget_tokens: '9' },
      { budget_tokens: -9 },
      { budget_tokens: 0 },
    ])
      assert.equal(room(8_000, null, null, thinking), 8_000, JSON.stringify(thinking))
  })
})

describe('what is worth sending', () => {
  const run = (over: Partial<SummaryRun> = {}): SummaryRun => ({
    input: inputFor(conversation(1, 10)),
    paid: { call: () => assert.fail('not called') },
    signal: new AbortController().signal,
    contextWindow: 10_000,
    usageRatio: 2,
    maxTokens: 2_000,
    refused: { tokens: Number.POSITIVE_INFINITY, media: false },
    maxRequestBytes: 1_000_000,
    ...over,
  })

  test('what fits the window with its reply, and is smaller than what was refused by a twentieth', () => {
    assert.deepEqual([fits(run(), 4_000), fits(run(), 4_001)], [true, false])
    const refused = run({ contextWindow: null, refused: { tokens: 1_000, media: false } })
    assert.deepEqual([fits(refused, 949), fits(refused, 950)], [true, false])
    assert.ok(fits(run({ contextWindow: null }), 9e9))
    assert.equal(usableTokens(run()), 3_000)
    assert.equal(usableTokens(run({ contextWindow: null })), Number.POSITIVE_INFINITY)
  })

  test('system and tools as they are, up to a quarter of the window; else the names that are used', () => {
    const { request } = inputFor([])
    const head = { system: request.system, tools: request.tools }
    const own = {
      system: 'You write summaries of the work of an agent.',
      tools: [{ name: 'read_file', description: '', inputSchema: { type: 'object' } }],
    }
    const messages = [user('go'), assistant(toolUse('a'), toolUse('b')), user('x')]
    assert.deepEqual(headFor(run({ contextWindow: null }), messages), head)
    // Four times the provider's tokens, two for each of our counter.
    const least = 4 * 2 * headTokens(head, { countTokens, priceContent })
    assert.deepEqual(headFor(run({ contextWindow: least }), messages), head)
    assert.deepEqual(headFor(run({ contextWindow: least - 1 }), messages), own)
    assert.deepEqual(headFor(run({ contextWindow: least, usageRatio: 2.1 }), messages), own)
    assert.deepEqual(headFor(run({ contextWindow: 0 }), [user('x')]), { ...own, tools: [] })
  })
})

describe('a request for a summary', () => {
  const span = [user('go', image), assistant(toolUse('c1')), user(toolResult('c1', 'x'))]
  const labelled = (request: ModelRequest | undefined) =>
    JSON.stringify(request?.messages).includes('not shown]')
  const inputWith = (change: Partial<ModelRequest>) => {
    const input = inputFor(conversation(2, 20))
    return { ...input, request: { ...input.request, ...change } }
  }

  test('forces no call, and chooses no tool where there is none', async () => {
    const samplingOf = async (tool_choice: unknown, tools?: ModelRequest['tools']) => {
      const { run, sent } = attempt(() => NOTE)
      await run(
        inputWith({ sampling: { temperature: 1, tool_choice }, ...(tools === undefined ? {} : { tools }) }),
      )
      return sent[0]?.sampling
    }
    for (const kept of [{ type: 'auto' }, { type: 'none' }, 'auto', null, {}])
      assert.deepEqual(await samplingOf(kept), { temperature: 1, tool_choice: kept })
    for (const forced of [{ type: 'any' }, { type: 'tool', name: 'x' }])
      assert.deepEqual(await samplingOf(forced), { temperature: 1 })
    assert.deepEqual(await samplingOf({ type: 'auto' }, []), { temperature: 1 })
  })

  test('goes again with labels when the provider refuses an image, once', async () => {
    for (const error of [
      new RefusedMediaError('bad image', null),
      Object.assign(new Error('too many bytes'), {
        name: 'ContextOverflowError',
        named: { tooManyBytes: true },
      }),
    ]) {
      const { run, sent } = attempt((_request, ordinal) => (ordinal === 0 ? error : NOTE))
      await run(inputFor(span))
      assert.deepEqual(sent.map(labelled), [false, true])
    }
    const { run, sent } = attempt(() => new RefusedMediaError('bad image', null))
    await assert.rejects(run(inputFor(span)), { name: 'RefusedMediaError' })
    assert.equal(sent.length, 2)
    const plain = attempt(() => new RefusedMediaError('bad image', null))
    await assert.rejects(plain.run(inputFor(conversation(2, 20))), { name: 'RefusedMediaError' })
    assert.equal(plain.sent.length, 1)
  })

  test('an overflow is known by its name, from whatever copy of the module; another error is thrown on', async () => {
    for (const name of ['ContextOverflowError', 'ContextOverflow']) {
      const { run, sent } = attempt((_request, ordinal) =>
        ordinal === 0 ? Object.assign(new Error('too long'), { name }) : NOTE,
      )
      await run(inputFor(conversation(5, 200), {}, conversation(5, 200).slice(1)))
      assert.equal(sent.length, 2)
    }
    const { run, sent } = attempt(() => new Error('down'))
    await assert.rejects(run(inputFor(conversation(5, 200))), /down/)
    assert.equal(sent.length, 1)
    assert.ok(overflow() instanceof ContextOverflowError)
  })

  test('a correction that does not fit is an overflow, too', async () => {
    const { run, sent } = attempt((_request, ordinal) =>
      ordinal === 1 ? overflow() : ordinal === 0 ? '' : NOTE,
    )
    await run(inputFor(conversation(5, 200), {}, conversation(5, 200).slice(1)))
    assert.ok(sent.length >= 3)
    assert.match(lastText(sent[0] as ModelRequest), /./)
  })
})

describe('notes on parts', () => {
  const isMerge = (request: ModelRequest) => lastText(request).includes('Part 1 of')

  test('the focus goes into each part and the merge', async () => {
    const { run, sent } = attempt((request) => (isMerge(request) ? 'Merged.' : NOTE), {
      contextWindow: 9_000,
    })
    await run(inputFor(conversation(30, 500), { focus: 'the retry budget' }))
    assert.ok(sent.length > 2)
    for (const request of sent) assert.match(lastText(request), /the retry budget/)
    const plain = attempt((request) => (isMerge(request) ? 'Merged.' : NOTE), { contextWindow: 9_000 })
    await plain.run(inputFor(conversation(30, 500)))
    for (const request of plain.sent) assert.doesNotMatch(lastText(request), /retry budget|undefined/)
  })

  test('a merge that does not fit is an overflow that names the window', async () => {
    const { run } = attempt((request) => (isMerge(request) ? overflow() : NOTE), { contextWindow: 9_000 })
    await assert.rejects(
      run(inputFor(conversation(30, 500))),
      (error) =>
        error instanceof SummaryFailed &&
        error.reason === 'overflow' &&
        /^The merge of \d+ parts does not fit the window of p\/m \(9000 tokens\)\.$/.test(error.message),
    )
    const unknown = attempt(() => overflow())
    await assert.rejects(
      unknown.run(inputFor(conversation(20, 300))),
      /less than a hundredth, does not fit the window of p\/m \(unknown tokens\)/,
    )
  })
})

describe('halves and shorter messages', () => {
  const price = (content: readonly ContentBlock[]) =>
    content.reduce((sum, block) => sum + Number(block['n'] ?? 0), 0)
  const sized = (
    role: 'user' | 'assistant',
    n: number,
  ): { role: 'user' | 'assistant'; content: ContentBlock[] } => ({ role, content: [{ type: 'odd', n }] })

  test('cut in the middle, before a message of the user or behind an opening; the first of equals', () => {
    const cut = (...messages: ReturnType<typeof sized>[]) =>
      halve(messages, price)?.map(({ length }) => length)
    assert.deepEqual(cut(sized('user', 1), sized('user', 1), sized('user', 1), sized('user', 1)), [2, 2])
    assert.deepEqual(cut(sized('user', 1), sized('assistant', 1)), [1, 2])
    assert.deepEqual(cut(sized('user', 1), sized('user', 1), sized('user', 1)), [1, 2])
    assert.deepEqual(cut(sized('user', 5), sized('user', 95)), [1, 1])
    assert.equal(cut(sized('user', 4), sized('user', 96)), undefined)
    assert.equal(cut(sized('user', 96), sized('user', 4)), undefined)
    assert.equal(cut(sized('user', 1)), undefined)
    assert.equal(cut(), undefined)
    const opening = halve([sized('user', 1), sized('assistant', 1)], price)?.[1][0]
    assert.equal(opening?.role, 'user')
    const answered = [user('a'), assistant(toolUse('c')), user(toolResult('c', 'x'))]
    assert.deepEqual(
      halve(answered, () => 1)?.map(({ length }) => length),
      [1, 3],
    )
  })

  test('texts of 200 characters and more lose the middle, and say how much', () => {
    const [message] = shorten([user('a'.repeat(199), 'b'.repeat(200))])
    assert.deepEqual(message?.content[0], text('a'.repeat(199)))
    const kept = 200 / 2 - 40
    assert.equal(
      message?.content[1]?.['text'],
      `${'b'.repeat(39)} [… ${200 - kept} characters cut …] ${'b'.repeat(kept - 39)}`,
    )
  })

  test('other values stay, results of every form too', () => {
    const block = { type: 'odd', n: 7, none: null, list: [1, 'x'], yes: true }
    assert.deepEqual(shorten([user(block)]), [user(block)])
    const results: ContentBlock[] = [
      { type: 'tool_result', tool_use_id: 'a' },
      { type: 'tool_result', tool_use_id: 'b', content: 'short' },
      { type: 'tool_result', tool_use_id: 'c', content: [image, text('x')] },
    ]
    const [message] = shorten([user(...results)])
    assert.deepEqual(message?.content.slice(0, 2), results.slice(0, 2))
    assert.match(JSON.stringify(message?.content[2]), /image, not shown\].*"x"/)
  })
})
