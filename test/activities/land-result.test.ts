import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { type ContentBlock, isText, text } from '../../src/shared/session/content.ts'
import { keepBytes } from '../../src/shared/session/keep-bytes.ts'
import { utf8Bytes } from '../../src/shared/session/prompt-content.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { openStage, RUN_1, SESSION } from '../support/activity-stage.ts'
import { cpuMs } from '../support/cpu-time.ts'

// Intake: what of a tool's output stands on the surface, and what is kept in the log.

const WINDOW = 40_000

/** Runs tools that give these outputs, all in one step. */
async function landed(outputs: readonly string[], policy: Readonly<Record<string, unknown>> = {}) {
  const calls = outputs.map((_, n) => ({ type: 'tool_use', id: `c${n}`, name: 'give', input: { n } }))
  const compact = { type: 'tool_use', id: 'k', name: 'compact', input: {} }
  const give: Tool = {
    name: 'give',
    description: 'Gives.',
    input: { jsonSchema: { type: 'object' } },
    run: async (input) => outputs[(input as { n: number }).n] ?? '',
  }
  const model = scriptedModel([{ content: [...calls, compact] }], {
    capacity: { contextWindow: WINDOW, maxOutputTokens: 1_000 },
  })
  const stage = await openStage({ model, tools: [give], policy })
  await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'a', message: 'Go.' })
  await stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 1 })
  for (const { id } of calls) await stage.run(RUN_1, 'sessionRunTool', { turn: 1, step: 1, callId: id })
  const events = await stage.store.events(SESSION)
  return {
    results: events.flatMap((event) =>
      event.type === 'tool/result' && event.data.name === 'give' ? [event] : [],
    ),
    outputs: events.flatMap((event) => (event.type === 'tool/output' ? [event] : [])),
  }
}

const textOf = (content: readonly ContentBlock[]) =>
  content
    .filter(isText)
    .map((block) => block.text)
    .join('')

describe('intake', () => {
  test('a result within its limit stands as it is, and is kept once', async () => {
    const words = 'word '.repeat(1_000)
    const { results, outputs } = await landed([words])
    assert.equal(textOf(results[0]?.data.content ?? []), words)
    assert.equal(outputs.length, 0)
  })

  test('one above it is cut to head and tail; the whole stands before it in the log', async () => {
    const lines = Array.from({ length: 9_000 }, (_, n) => `line ${n}`).join('\n')
    const { results, outputs } = await landed([lines], { toolResultMaxTokens: 2_000 })
    const [result] = results
    assert.ok(
      result !== undefined && result.tokens <= 2_000 && result.tokens > 1_500,
      `${result?.tokens} tokens`,
    )
    const said = textOf(result.data.content)
    assert.ok(said.startsWith('line 0\n') && said.endsWith('\nline 8999'))
    assert.match(said, new RegExp(`history \\{"seq": ${result.data.full}\\} reads the whole `))
    assert.equal(outputs[0]?.seq, result.data.full)
    assert.ok((outputs[0]?.seq ?? 0) < result.seq)
    assert.equal(textOf(outputs[0]?.data.content ?? []), lines)
  })

  test('the calls of a step share half of the window; the `compact` call is none of them', async () => {
    const words = 'word '.repeat(9_000)
    const four = await landed([words, words, words, words], { toolResultMaxTokens: 20_000 })
    const share = WINDOW / 2 / 4
    for (const { tokens } of four.results)
      assert.ok(tokens <= share && tokens > share * 0.8, `${tokens} of ${share}`)
    const two = await landed([words, words], { toolResultMaxTokens: 20_000 })
    assert.equal(two.outputs.length, 0, '9,000 tokens each are within half of 20,000')
  })

  test('many megabytes, dense or blank, are cut in less time than it takes to count them once', async () => {
    const timeOf = async (work: () => unknown) => {
      const begun = cpuMs()
      await work()
      return cpuMs() - begun
    }
    for (const unit of ['x', '漢', ' ']) {
      const output = unit.repeat(4_000_000)
      const counting = await timeOf(() => countTokens(output))
      const landing = await timeOf(async () => {
        const { results } = await landed([output])
        assert.ok((results[0]?.tokens ?? Number.POSITIVE_INFINITY) <= 0.15 * WINDOW)
      })
      if (unit !== ' ') assert.ok(landing < counting, `${unit}: ${landing} ms, counting ${counting} ms`)
    }
  })
})

describe('keepBytes', () => {
  const bytesOf = (content: readonly ContentBlock[]) =>
    content.filter(isText).reduce((sum, block) => sum + utf8Bytes(block.text), 0)

  test('keeps whole code points up to the limit, over all blocks, and counts the rest', () => {
    for (const value of ['abcdefgh', 'ééééé', '漢字漢字漢字', '🙂🙂🙂🙂', 'a🙂é漢']) {
      const given = [text(value), text(value)]
      const all = 2 * utf8Bytes(value)
      for (let limit = 0; limit <= all; limit++) {
        const { content, droppedBytes } = keepBytes(given, limit)
        const kept = bytesOf(content)
        assert.ok(kept <= limit && kept > limit - 4)
        assert.equal(kept + droppedBytes, all)
        assert.ok((value + value).startsWith(textOf(content)))
        assert.doesNotMatch(textOf(content), /\p{Surrogate}/u)
      }
    }
  })

  test('a picture that is too large becomes a sentence, a small one stays', () => {
    const picture = (data: string): ContentBlock => ({ type: 'image', source: { type: 'base64', data } })
    const { content, droppedBytes } = keepBytes(
      [picture('AAAA'), picture('A'.repeat(5_000)), text('after')],
      1_000,
    )
    assert.deepEqual(content[0], picture('AAAA'))
    assert.match(String(content[1]?.['text']), /^\[a block of type image with 50\d\d bytes was not kept\]$/)
    assert.deepEqual(content[2], text('after'))
    assert.ok(droppedBytes > 5_000)
  })
})
