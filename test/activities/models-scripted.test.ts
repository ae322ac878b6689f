import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type ScriptedModelOptions,
  type ScriptedReply,
  scriptedModel,
} from '../../src/activities/models/scripted.ts'
import { isSessionError } from '../../src/shared/errors.ts'
import { ContextOverflowError, type ModelRequest } from '../../src/shared/ports/model.ts'
import { text } from '../../src/shared/session/content.ts'
import { priceContent, priceText, priceTools } from '../../src/shared/tokens/price.ts'

const TOOLS = [{ name: 'read_file', description: 'Reads a file.', inputSchema: { type: 'object' } }]

function request(change: Partial<ModelRequest> = {}): ModelRequest {
  return {
    provider: 'scripted',
    model: 'demo',
    system: 'You are an agent.',
    tools: TOOLS,
    messages: [{ role: 'user', content: [text('List the files, please.')] }],
    maxTokens: 1_000,
    sampling: {},
    purpose: 'turn',
    index: 0,
    sessionId: 's1',
    ...change,
  }
}

const never = new AbortController().signal
const ask = (model: ReturnType<typeof scriptedModel>, change: Partial<ModelRequest> = {}) =>
  model.generate(request(change), { signal: never })
const list = (replies: readonly ScriptedReply[], options?: ScriptedModelOptions) =>
  scriptedModel(replies, options)

describe('scripted model', () => {
  test('a list answers by the index of the request, as often as it is asked', async () => {
    const model = list(['zero', 'one'])
    for (const index of [1, 0, 1]) {
      const { content, stopReason } = await ask(model, { index })
      assert.deepEqual([content, stopReason], [[text(index === 0 ? 'zero' : 'one')], 'end_turn'])
    }
  })

  test('an answer with calls stops for them; a given stop reason and model stand', async () => {
    const call = { type: 'tool_use', id: 'c1', name: 'read_file', input: {} }
    const model = list([
      { content: [call] },
      { content: [text('cut')], stopReason: 'max_tokens', model: 'demo-2', usage: null },
    ])
    assert.equal((await ask(model)).stopReason, 'tool_use')
    const second = await ask(model, { index: 1 })
    assert.deepEqual(second, {
      content: [text('cut')],
      stopReason: 'max_tokens',
      usage: null,
      model: 'demo-2',
    })
  })

  test('a function sees the request and may throw', async () => {
    const model = scriptedModel(({ messages, index }) => {
      if (index === 1) throw new Error('boom')
      return `got ${messages.length}`
    })
    assert.deepEqual((await ask(model)).content, [text('got 1')])
    await assert.rejects(ask(model, { index: 1 }), /boom/)
  })

  test('a script that runs out says which reply was asked for and how many there are, and is not retried', async () => {
    await assert.rejects(ask(list(['a', 'b']), { index: 2 }), (error: unknown) => {
      assert.ok(isSessionError(error, 'ModelFailed'))
      assert.match(error.message, /scripted\/demo in session s1 has no reply 2: it has 2, counted from 0/)
      assert.deepEqual(error.details, { retryable: false, index: 2, length: 2 })
      return true
    })
  })

  test('usage is our count of the request as it was sent, and of the answer', async () => {
    const { usage } = await ask(list(['Two files.']))
    const sent = request()
    assert.deepEqual(usage, {
      inputTokens: priceText(sent.system) + priceTools(TOOLS) + priceContent(sent.messages[0]?.content ?? []),
      outputTokens: priceContent([text('Two files.')]),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    })
    const longer = await ask(list(['Two files.']), {
      messages: [{ role: 'user', content: [text('many words '.repeat(500))] }],
    })
    assert.ok((longer.usage?.inputTokens ?? 0) > (usage?.inputTokens ?? 0) + 900)
    assert.equal(list([]).firstUsageRatio?.('demo'), 1)
  })

  test('prices can be injected', async () => {
    const pricing = { text: () => 1, tools: () => 10, content: () => 100 }
    const { usage } = await ask(list(['x'], { pricing }))
    assert.deepEqual([usage?.inputTokens, usage?.outputTokens], [111, 100])
  })

  test('summaries come from their own script; without one a list fails loudly and a function decides', async () => {
    const summary = { purpose: 'summary' } as const
    assert.deepEqual((await ask(list(['turn'], { summaries: 'Short.' }), summary)).content, [text('Short.')])
    const byRequest = list(['turn'], { summaries: ({ index }) => `Summary ${index}.` })
    assert.deepEqual((await ask(byRequest, { ...summary, index: 4 })).content, [text('Summary 4.')])
    await assert.rejects(
      ask(list(['turn']), summary),
      /no summary for call 0: give it `summaries`, or the policy `summarizer: 'deterministic'`/,
    )
    assert.deepEqual(
      (
        await ask(
          scriptedModel(({ purpose }) => purpose),
          summary,
        )
      ).content,
      [text('summary')],
    )
  })

  test('O2 a request that does not fit the window is refused as too long, reply included', async () => {
    const model = list(['x'], { capacity: { contextWindow: 2_000, maxOutputTokens: 1_000 } })
    assert.deepEqual(await model.capacity('demo'), { contextWindow: 2_000, maxOutputTokens: 1_000 })
    await ask(model)
    const long = { messages: [{ role: 'user' as const, content: [text('word '.repeat(1_000))] }] }
    await assert.rejects(ask(model, long), ContextOverflowError)
    await assert.rejects(ask(model, { maxTokens: 1_990 }), ContextOverflowError)
    await ask(list(['x']), long)
  })

  test('text is streamed as it stands in the answer', async () => {
    const deltas: string[] = []
    await list([{ content: [text('a'), text('b')] }]).generate(request(), {
      signal: never,
      onDelta: (delta) => deltas.push(delta.text),
    })
    assert.deepEqual(deltas, ['a', 'b'])
  })

  test('waits before an answer, by request if asked so, and ends with the exact reason when aborted', async () => {
    const held = list(['turn'], {
      summaries: 's',
      delayMs: ({ purpose, index }) => (purpose === 'summary' && index === 0 ? 60_000 : 0),
    })
    await ask(held)
    await ask(held, { purpose: 'summary', index: 1 })
    const controller = new AbortController()
    const reason = new Error('cancelled by user')
    const answer = held.generate(request({ purpose: 'summary' }), { signal: controller.signal })
    setTimeout(() => controller.abort(reason), 20)
    const startedAt = performance.now()
    await assert.rejects(answer, (error) => error === reason)
    assert.ok(performance.now() - startedAt < 30_000, 'it waited for its minute')
    await assert.rejects(
      list(['x']).generate(request(), { signal: AbortSignal.abort(reason) }),
      (error) => error === reason,
    )
    const startedWait = performance.now()
    await ask(list(['x'], { delayMs: 50 }))
    assert.ok(performance.now() - startedWait >= 45)
  })

  test('an answer of a function that outlives the abort is dropped', async () => {
    const controller = new AbortController()
    const model = scriptedModel(() => {
      controller.abort(new Error('too late'))
      return 'x'
    })
    await assert.rejects(model.generate(request(), { signal: controller.signal }), /too late/)
  })
})
