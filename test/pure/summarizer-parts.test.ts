import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { halve, shorten } from '../../src/shared/compaction/message-parts.ts'
import { messagesTokens } from '../../src/shared/compaction/message-size.ts'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import { SummaryFailed } from '../../src/shared/ports/summarizer.ts'
import { text } from '../../src/shared/session/content.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import {
  assistant,
  attempt,
  conversation,
  countTokens,
  inputFor,
  lastText,
  overflow,
  priceContent,
  sizeOf,
  toolResult,
  toolUse,
  user,
} from './summarizer-fixtures.ts'

const NOTE = 'Notes on a part: the proxy drops the first request.'
const isOverflow = (error: unknown) => error instanceof SummaryFailed && error.reason === 'overflow'
const isMerge = (request: ModelRequest) => lastText(request).includes('Part 1 of')
const bytesOf = (requests: readonly ModelRequest[]) =>
  requests.map((request) => JSON.stringify([request.system, request.tools, request.messages]))

function assertValid({ messages, tools }: ModelRequest): void {
  assert.deepEqual(requestProblems(messages), [])
  const used = messages.flatMap(({ content }) =>
    content.filter((block) => block.type === 'tool_use').map((block) => block['name']),
  )
  assert.ok(used.every((name) => tools.some((tool) => tool.name === name)))
}

describe('summary in one call', () => {
  test('the span alone is sent when the whole conversation does not fit', async () => {
    const span = conversation(5, 200)
    const tail = conversation(5, 2_000).slice(1)
    const { run, sent } = attempt(() => NOTE, { contextWindow: 12_000 })
    const summary = await run(inputFor(span, {}, tail))
    assert.equal(summary?.llmStreamCall, true)
    assert.equal(sent.length, 1)
    assert.deepEqual(sent[0]?.messages.slice(0, -1), span.slice(0, -1))
    assert.ok(sent[0] !== undefined)
    assertValid(sent[0])
  })

  test('C8 a request that the provider refuses is followed by a smaller one', async () => {
    const { run, sent } = attempt((_request, ordinal) => (ordinal === 0 ? overflow() : NOTE))
    await run(inputFor(conversation(5, 200), {}, conversation(5, 200).slice(1)))
    assert.equal(sent.length, 2)
    assert.ok(sent[0] !== undefined && sent[1] !== undefined && sizeOf(sent[1]) < sizeOf(sent[0]))
  })
})

describe('summary in parts', () => {
  test('H3 A01 the summarizer’s own window decides: planned chunks, each valid by itself, then a merge', async () => {
    const rounds = conversation(20, 500)
    const chunks = [rounds.slice(0, 21), [user('[The session goes on.]'), ...rounds.slice(21)]]
    const { run, sent, purposes } = attempt((request) => (isMerge(request) ? 'Merged.' : NOTE), {
      contextWindow: 9_500,
    })
    const summary = await run(inputFor(rounds, { chunks }))
    assert.deepEqual(purposes, ['chunk', 'chunk', 'merge'])
    assert.deepEqual(summary, { summary: [text('Merged.')], provider: 'p', model: 'm', maxTokens: 2_375 })
    for (const request of sent) {
      assertValid(request)
      assert.ok(sizeOf(request) + request.maxTokens <= 9_500)
    }
    const notes = lastText(sent[2] as ModelRequest)
    assert.ok(notes.includes('Part 2 of 2') && notes.includes(NOTE))
  })

  test('C8 A01 a chunk that nobody planned small enough is halved until it fits; every round is covered once', async () => {
    const { run, sent } = attempt((request) => (isMerge(request) ? 'Merged.' : NOTE), {
      contextWindow: 9_000,
    })
    await run(inputFor(conversation(60, 500)))
    const parts = sent.filter((request) => !isMerge(request))
    assert.ok(parts.length >= 4)
    for (const request of sent) assertValid(request)
    const covered = parts.flatMap((request) =>
      request.messages.flatMap(({ content }) =>
        content.filter((block) => block.type === 'tool_use').map((block) => block['id']),
      ),
    )
    assert.deepEqual(
      covered,
      Array.from({ length: 60 }, (_, round) => `c${round}`),
    )
    assert.equal(new Set(bytesOf(sent)).size, sent.length)
  })

  test('C8 the provider refuses again and again: the same bytes never go twice, sizes fall, and the end is overflow', async () => {
    const { run, sent } = attempt(() => overflow())
    await assert.rejects(run(inputFor(conversation(200, 300))), isOverflow)
    const sizes = sent.map(sizeOf)
    assert.deepEqual(
      sizes,
      [...sizes].sort((a, b) => b - a),
    )
    assert.equal(new Set(bytesOf(sent)).size, sent.length)
    assert.ok(sent.length <= 10, `${sent.length} requests`)
  })

  test('A05 a span of one huge message is shortened, head and tail kept, until it fits', async () => {
    const huge = `BEGIN ${'x '.repeat(100_000)} END`
    const { run, sent } = attempt(() => NOTE, { contextWindow: 9_000 })
    const summary = await run(inputFor([user('go'), assistant(toolUse('c1')), user(toolResult('c1', huge))]))
    assert.ok(summary !== null)
    const shown =
      sent.map((request) => JSON.stringify(request.messages)).find((messages) => messages.includes('c1')) ??
      ''
    assert.match(shown, /BEGIN .*characters cut.* END/)
    for (const request of sent) assertValid(request)
  })

  test('A07 images become labels before anything is cut', () => {
    const image = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(200_000) },
    }
    const [message] = shorten([user(image, 'caption')])
    assert.deepEqual(message, user('[image image/png, not shown]', 'caption'))
  })

  test('O13 shortening leaves reasoning and what names a call alone', () => {
    const thinking = { type: 'thinking', thinking: 't'.repeat(1_000), signature: 's'.repeat(1_000) }
    const call = { type: 'tool_use', id: 'i'.repeat(300), name: 'n', input: { text: 'v'.repeat(1_000) } }
    const [message] = shorten([assistant(thinking, call)])
    assert.deepEqual(message?.content[0], thinking)
    assert.equal(message?.content[1]?.['id'], call.id)
    assert.ok(JSON.stringify(message?.content[1]?.['input']).length < 600)
  })

  test('tools and system that fill a small window are not sent with parts', async () => {
    const input = inputFor(conversation(30, 500))
    const tools = [
      ...input.request.tools,
      { name: 'other', description: 'long '.repeat(8_000), inputSchema: {} },
    ]
    const { run, sent } = attempt((request) => (isMerge(request) ? 'Merged.' : NOTE), {
      contextWindow: 9_000,
    })
    await run({ ...input, request: { ...input.request, tools } })
    assert.deepEqual(sent[0]?.tools, [
      { name: 'read_file', description: '', inputSchema: { type: 'object' } },
    ])
  })

  test('more notes than one request holds are merged in groups, and the groups again', async () => {
    const { run, sent } = attempt(
      (request) => (isMerge(request) ? `Merged. ${'m'.repeat(600)}` : 'n'.repeat(1_200)),
      { contextWindow: 5_000 },
    )
    const summary = await run(inputFor(conversation(100, 500), { limitTokens: 2_700 }))
    assert.ok(summary !== null && summary.llmStreamCall === undefined)
    assert.ok(sent.filter(isMerge).length > 1)
    for (const request of sent) assert.ok(sizeOf(request) + request.maxTokens <= 5_000)
  })
})

describe('an attempt that crashed', () => {
  const crash = new Error('worker killed')

  test('I1 resumes after the last stored call: nothing stored is paid again, whatever was refused before', async () => {
    const full = attempt((request) => answerOf(request), { contextWindow: 9_000 })
    const expected = await full.run(inputFor(conversation(60, 500)))
    for (let killedAt = 0; killedAt < full.sent.length; killedAt++) {
      let ordinal = 0
      const broken = attempt((request) => (ordinal++ === killedAt ? crash : answerOf(request)), {
        contextWindow: 9_000,
      })
      const input = inputFor(conversation(60, 500))
      await assert.rejects(broken.run(input), crash)
      assert.deepEqual(await broken.run(input), expected)
      const paidTwice = broken.sent.length - full.sent.length
      assert.equal(paidTwice, 1, `killed in call ${killedAt}`)
    }
  })

  test('C8 I1 a stored answer never stands for another request, even when the refusal before it is not repeated', async () => {
    let refuses = true
    const { run, sent } = attempt((request) => {
      if (refuses && sizeOf(request) > 4_000) return overflow()
      if (sent.length > 3 && refuses) return crash
      return answerOf(request)
    })
    const input = inputFor(conversation(20, 500))
    await assert.rejects(run(input), crash)
    refuses = false
    const summary = await run(input)
    assert.deepEqual(summary?.summary, [text(answerOf(sent.at(-1) as ModelRequest))])
    assert.equal(sizeOf(sent.at(-1) as ModelRequest) > 4_000, true)
  })

  test('C8 I1 the whole conversation and the span alone are two calls', async () => {
    let refuses = true
    const { run, sent } = attempt((request) =>
      refuses && sizeOf(request) > 6_000 ? overflow() : answerOf(request),
    )
    const input = inputFor(conversation(5, 200), {}, conversation(5, 2_000).slice(1))
    await run(input)
    refuses = false
    assert.deepEqual((await run(input))?.summary, [text(answerOf(sent[2] as ModelRequest))])
    assert.equal(sizeOf(sent[2] as ModelRequest), sizeOf(sent[0] as ModelRequest))
  })

  const answerOf = (request: ModelRequest): string =>
    isMerge(request) ? 'Merged notes.' : `Notes on ${sizeOf(request)}.`
})

describe('halves', () => {
  test('are about equal, valid, and keep every message once and in order', () => {
    const messages = conversation(9, 100)
    const halves = halve(messages, priceContent)
    assert.ok(halves !== null)
    const [first, second] = halves
    assert.deepEqual([...first, ...second.slice(1)], messages)
    assert.ok(
      Math.abs(
        messagesTokens(first, { countTokens, priceContent }) -
          messagesTokens(second, { countTokens, priceContent }),
      ) < 300,
    )
  })

  test('a unit is never cut: a call stays with its results', () => {
    assert.equal(
      halve(
        [assistant(toolUse('a'), toolUse('b')), user(toolResult('a', '1'), toolResult('b', '2'), 'and this')],
        priceContent,
      ),
      null,
    )
    assert.equal(halve([user('only')], priceContent), null)
  })
})
