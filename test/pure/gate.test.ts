import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { judgeSummary, summaryText } from '../../src/shared/compaction/gate.ts'
import type { ModelReply } from '../../src/shared/ports/model.ts'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import { cpuMs } from '../support/cpu-time.ts'

const GOOD = 'We chose SQLite because one host is enough. Next: write the migration.'
const countWords = (value: string) => value.split(/\s+/).filter(Boolean).length

const reply = (content: readonly ContentBlock[], stopReason = 'end_turn'): ModelReply => ({
  content,
  stopReason,
  usage: null,
})
const judge = (answer: ModelReply, limits: { limitTokens?: number; spanTokens?: number } = {}) =>
  judgeSummary(answer, { limitTokens: 100, spanTokens: 1_000, countTokens: countWords, ...limits })
const judgeText = (value: string) => judge(reply([text(value)]))

const THINKING: ContentBlock = { type: 'thinking', thinking: 'hm', signature: 's' }
const TOOL_USE: ContentBlock = { type: 'tool_use', id: 'c1', name: 'bash', input: {} }

describe('gate', () => {
  test('O7 a complete, short, plain answer is accepted, with reasoning before it or not', () => {
    assert.equal(judgeText(GOOD), null)
    assert.equal(judge(reply([THINKING, text(GOOD)])), null)
  })

  for (const [stopReason, code] of [
    ['max_tokens', 'truncated'],
    ['stop_sequence', 'truncated'],
    ['model_context_window_exceeded', 'truncated'],
    ['something_new', 'truncated'],
    ['refusal', 'refusal'],
    ['pause_turn', 'paused'],
    ['tool_use', 'tool-use'],
  ] as const) {
    test(`H4 D8 H03 stop reason ${stopReason} → ${code}, however good the text`, () => {
      assert.equal(judge(reply([text(GOOD)], stopReason)), code)
    })
  }

  test('H4 D8 no text, blank text and invisible text → blank', () => {
    for (const content of [[], [text('')], [text(' \n\t ')], [text('\u200b\u2060\ufeff')], [text('…')]]) {
      assert.equal(judge(reply(content)), 'blank')
    }
  })

  test('H4 H04 only reasoning → thinking-only', () => {
    assert.equal(judge(reply([THINKING])), 'thinking-only')
    assert.equal(judge(reply([{ type: 'redacted_thinking', data: 'x' }, text(' ')])), 'thinking-only')
  })

  test('H07 a tool call is refused, alone and beside text, even when the stop reason hides it', () => {
    assert.equal(judge(reply([TOOL_USE], 'tool_use')), 'tool-use')
    assert.equal(judge(reply([text(GOOD), TOOL_USE])), 'tool-use')
    assert.equal(
      judge(reply([text(GOOD), { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }])),
      'tool-use',
    )
  })

  test('D8 F03 an image, or a block that is no text, is refused', () => {
    assert.equal(judge(reply([{ type: 'image', source: {} }])), 'not-text')
    assert.equal(judge(reply([text(GOOD), { type: 'compaction', content: null }])), 'not-text')
  })

  for (const markup of [
    '<function_calls><invoke name="bash"><parameter name="command">ls</parameter></invoke></function_calls>',
    '<invoke name="bash">',
    '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>',
    '<function=bash><parameter=command>ls</parameter></function>',
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="bash">',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash',
    '<|tool_call|>bash',
    '[TOOL_CALLS] [{"name": "bash"}]',
    '{"type": "tool_use", "id": "c1", "name": "bash", "input": {}}',
    '{"name": "bash", "arguments": {"command": "ls"}}',
    '{"tool_calls": [{"function": {"name": "bash"}}]}',
    '```json\n{"name": "bash", "input": {"command": "ls"}}\n```',
  ]) {
    test(`H06 call markup is refused: ${markup.slice(0, 40)}`, () => {
      assert.equal(judgeText(markup), 'markup')
      assert.equal(judgeText(`${GOOD}\n${markup}\n${GOOD}`), 'markup')
    })
  }

  test('H06 a summary may speak of call markup, in code spans and in prose', () => {
    assert.equal(
      judgeText(
        'The parser drops `<invoke name="x">` and `{"name": "bash", "arguments": {}}` before display.',
      ),
      null,
    )
    assert.equal(judgeText('We handle <tool_call> tags and the tool_use type; a function<T> stays.'), null)
  })

  for (const refusal of [
    "I'm sorry, but I can't help with that request.",
    'I cannot assist with summarizing this conversation because it contains …',
    'I’m unable to provide a summary of this conversation.',
    'I apologize, but this goes against my guidelines.',
    "I can't summarise this conversation.",
    "I won't continue with this task.",
  ]) {
    test(`H09 a refusal in words is refused: ${refusal.slice(0, 30)}`, () => {
      assert.equal(judgeText(`${refusal} ${'More words follow here. '.repeat(10)}`), 'refusal')
    })
  }

  test('H09 a summary that begins with what could not be done is none', () => {
    assert.equal(judgeText('I cannot reproduce the flaky test; the clock mock was tried.'), null)
    assert.equal(judgeText('Sorry handling in errors.ts was rewritten.'), null)
    assert.equal(judgeText(`${GOOD} The reviewer answered: I can't help with the release.`), null)
  })

  test('D8 as long as the span → not-smaller, over its limit → too-long', () => {
    assert.equal(judge(reply([text('a b c')]), { spanTokens: 3 }), 'not-smaller')
    assert.equal(judge(reply([text('a b c')]), { spanTokens: 4 }), null)
    assert.equal(judge(reply([text('a b c')]), { limitTokens: 2 }), 'too-long')
    assert.equal(judge(reply([text('a b c')]), { limitTokens: 3 }), null)
  })

  test('O14 the text is trimmed, joined and well-formed', () => {
    assert.equal(summaryText(reply([text(' a\ud800'), THINKING, text('b ')])), 'a\ufffdb')
  })

  test('markup is looked for in linear time', () => {
    for (const part of ['<', '{"name":', '`', '<|tool', '{   ', '"type" ']) {
      const startedAt = cpuMs()
      judgeText(`a${part.repeat(400_000 / part.length)}`)
      assert.ok(cpuMs() - startedAt < 1_000, `${JSON.stringify(part)} took ${cpuMs() - startedAt} ms`)
    }
  })
})
