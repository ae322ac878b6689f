import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { deterministicSummarizer } from '../../src/shared/compaction/deterministic-summarizer.ts'
import type { ModelReply } from '../../src/shared/ports/model.ts'
import { type Summary, SummaryFailed } from '../../src/shared/ports/summarizer.ts'
import { text } from '../../src/shared/session/content.ts'
import {
  assistant,
  attempt,
  conversation,
  inputFor,
  lastText,
  toolResult,
  toolUse,
  user,
} from './summarizer-fixtures.ts'

const GOOD = 'We retry three times because the proxy drops the first. Next: sendChunk.'
const stopped = (stopReason: string, value = GOOD): ModelReply => ({
  content: [text(value)],
  stopReason,
  usage: null,
})
const failsWith = (reason: SummaryFailed['reason']) => (error: unknown) =>
  error instanceof SummaryFailed && error.reason === reason

function summarized(summary: Summary | null): Summary {
  assert.ok(summary !== null)
  return summary
}

describe('model summarizer', () => {
  test('H1 sends the last request again, byte for byte, tail included, with one instruction at its end', async () => {
    const span = conversation(3, 50)
    const tail = [assistant(toolUse('t1')), user(toolResult('t1', 'fresh'))]
    const input = inputFor(
      span,
      { request: { ...inputFor(span, {}, tail).request, sampling: { temperature: 0.2 } } },
      tail,
    )
    const { run, sent } = attempt(() => GOOD)
    await run(input)
    const [request] = sent
    assert.ok(request !== undefined)
    const { messages, ...head } = request
    const { messages: before, ...headBefore } = input.request
    assert.deepEqual(head, { ...headBefore, maxTokens: 8_192 })
    const asked = messages.at(-1)?.content.at(-1)
    assert.deepEqual(messages.slice(0, -1), before.slice(0, -1))
    assert.deepEqual(messages.at(-1)?.content.slice(0, -1), before.at(-1)?.content)
    assert.match(String(asked?.['text']), /event #412, which is the result of the call "c2" of read_file/)
  })

  test('one accepted call gives summary, raw output, usage, provider, model and cap', async () => {
    const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0 }
    const content = [{ type: 'thinking', thinking: 'hm', signature: 's' }, text(` ${GOOD}\n`)]
    const { run, purposes } = attempt(() => ({ content, stopReason: 'end_turn', usage, model: 'm-2' }))
    const summary = await run(inputFor(conversation(3, 50)))
    assert.deepEqual(summary, {
      summary: [text(GOOD)],
      rawOutput: content,
      llmStreamCall: true,
      provider: 'p',
      model: 'm-2',
      maxTokens: 8_192,
      usage,
    })
    assert.deepEqual(purposes, ['summary'])
  })

  test('H06 D8 a refused answer is corrected once, without its text; the second answer counts', async () => {
    const markup = '<invoke name="bash">rm</invoke>'
    const { run, sent, purposes, stored } = attempt((_request, ordinal) => (ordinal === 0 ? markup : GOOD))
    assert.deepEqual(summarized(await run(inputFor(conversation(3, 50)))).summary, [text(GOOD)])
    assert.deepEqual(purposes, ['summary', 'retry'])
    assert.deepEqual([...stored.keys()], [0, 1])
    const [first, second] = sent
    assert.ok(first !== undefined && second !== undefined)
    assert.ok(!JSON.stringify(second.messages).includes('rm</invoke>'))
    assert.equal(lastText(second).startsWith(lastText(first)), true)
    assert.match(lastText(second), /a tool call written as text/)
  })

  for (const [code, reply] of [
    ['truncated', stopped('max_tokens')],
    ['paused', stopped('pause_turn')],
    ['tool-use', { content: [toolUse('x')], stopReason: 'tool_use', usage: null }],
    ['blank', stopped('end_turn', ' ')],
    ['not-text', { content: [{ type: 'image', source: {} }], stopReason: 'end_turn', usage: null }],
    ['not-smaller', stopped('end_turn', 'word '.repeat(1_000))],
    ['markup', stopped('end_turn', '<function_calls><invoke name="x">')],
  ] as const) {
    test(`D8 H4 ${code} twice → SummaryFailed, after two calls`, async () => {
      const { run, sent } = attempt(() => reply as ModelReply)
      await assert.rejects(run(inputFor(conversation(3, 50))), failsWith(code))
      assert.equal(sent.length, 2)
    })
  }

  test('D8 longer than its limit twice → too-long', async () => {
    const { run } = attempt(() => 'word '.repeat(3_000))
    await assert.rejects(run(inputFor(conversation(30, 1_000))), failsWith('too-long'))
  })

  test('H09 a model that declines is not asked again', async () => {
    const { run, sent } = attempt(() => stopped('refusal'))
    await assert.rejects(run(inputFor(conversation(3, 50))), failsWith('refusal'))
    assert.equal(sent.length, 1)
  })

  test('H09 an empty span never reaches the model', async () => {
    const { run, sent } = attempt(() => GOOD)
    await assert.rejects(run(inputFor([])), failsWith('failed'))
    assert.equal(sent.length, 0)
  })

  test('a provider failure passes through: it is no summary', async () => {
    const { run } = attempt(() => new Error('529 overloaded'))
    await assert.rejects(run(inputFor(conversation(3, 50))), /529 overloaded/)
  })

  test('an aborted attempt sends nothing and gives the exact reason', async () => {
    const { run, sent } = attempt(() => GOOD)
    const reason = new Error('user cancelled')
    await assert.rejects(
      run(inputFor(conversation(3, 50)), AbortSignal.abort(reason)),
      (error) => error === reason,
    )
    assert.equal(sent.length, 0)
  })

  test('an unknown provider is named with the known ones', async () => {
    const { run } = attempt(() => GOOD)
    const input = inputFor(conversation(3, 50))
    await assert.rejects(
      run({ ...input, request: { ...input.request, provider: 'acme' } }),
      /"acme" is not among this worker's: p/,
    )
  })

  test('a forced tool call of the session is not forced on the summary', async () => {
    const { run, sent } = attempt(() => GOOD)
    const input = inputFor(conversation(3, 50))
    await run({
      ...input,
      request: { ...input.request, sampling: { temperature: 0, tool_choice: { type: 'any' } } },
    })
    assert.deepEqual(sent[0]?.sampling, { temperature: 0 })
  })

  test('H2 images and documents go along, or become labels for a model that takes none', async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const document = {
      type: 'document',
      title: 'spec',
      source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
    }
    const span = [
      user(image, 'see this'),
      assistant(toolUse('c1')),
      user({ type: 'tool_result', tool_use_id: 'c1', content: [document] }),
      ...conversation(2, 50).slice(1),
    ]
    const taking = attempt(() => GOOD)
    await taking.run(inputFor(span))
    assert.deepEqual(taking.sent[0]?.messages.slice(0, 3), span.slice(0, 3))
    const blind = attempt(() => GOOD, { acceptsMedia: false })
    await blind.run(inputFor(span))
    assert.deepEqual(blind.sent[0]?.messages[0], user('[image image/png, not shown]', 'see this'))
    assert.ok(!JSON.stringify(blind.sent).includes('AAAA'))
    assert.ok(JSON.stringify(blind.sent).includes('[document application/pdf \\"spec\\", not shown]'))
  })

  test('the deterministic summarizer asks nobody', async () => {
    const { run: _run, ...rest } = attempt(() => GOOD)
    const paid = { call: () => Promise.reject(new Error('paid')) }
    assert.equal(
      await deterministicSummarizer().summarize(inputFor(conversation(1, 1)), {
        signal: new AbortController().signal,
        paid,
      }),
      null,
    )
    assert.equal(rest.sent.length, 0)
  })
})
