import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type AnswerLimit, renderHits, renderPart } from '../../src/shared/recall/answers.ts'
import { contentText, type Recalled } from '../../src/shared/recall/event-text.ts'
import { foldCase, unfoldedIndex } from '../../src/shared/recall/fold-case.ts'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'

const LIMIT: AnswerLimit = { maxTokens: 2_000, count: countTokens }

const output = (seq: number, content: readonly ContentBlock[], droppedBytes = 0): Recalled => ({
  seq,
  time: 0,
  key: `o${seq}`,
  type: 'tool/output',
  turn: 1,
  step: 1,
  data: { callId: 'c', name: 'read_file', content: [...content], droppedBytes },
  tokens: 0,
})

describe('the words of an event', () => {
  test('calls with their inputs, nested results and documents; no pictures, signatures or base64', () => {
    const said = contentText([
      { type: 'thinking', thinking: 'I wonder.', signature: 'c2lnbmVk' },
      { type: 'redacted_thinking', data: 'aGlkZGVu' },
      {
        type: 'tool_use',
        id: 'x',
        name: 'edit',
        input: { path: 'a.ts', lines: ['one "1"', 'two'], deep: { n: 3, no: null } },
      },
      { type: 'tool_result', tool_use_id: 'x', content: [text('done'), { type: 'image', source: {} }] },
      { type: 'tool_result', tool_use_id: 'y', content: 'plain' },
      { type: 'document', title: 'Plan', source: { type: 'base64', data: 'cGRm' } },
      { type: 'search_result', source: 'https://x.test', encrypted_content: 'c2VjcmV0' },
    ])
    assert.equal(
      said,
      'I wonder.\n→ edit\npath: a.ts\nlines: one "1"\ntwo\ndeep: n: 3\nno: \ndone\n[image]\n[tool_result]\ntool_use_id: y\ncontent: plain\n[document]\ntitle: Plan\nsource: \n[search_result]\nsource: https://x.test',
    )
  })
})

describe('folded texts', () => {
  test('a place in the fold is a place in the text, also where letters change their length', () => {
    for (const before of ['', 'abc', 'Straße ', 'İİ', '😀ﬁ', 'Ǆ ', 'ΟΔΟΣ ', 'C:\\\\a\\']) {
      const said = `${before}Needle`
      const at = unfoldedIndex(said, foldCase(said).indexOf('needle'))
      assert.equal(said.slice(at), 'Needle', before)
    }
  })
})

describe('one event', () => {
  test('that fits comes whole, with its citation', () => {
    assert.equal(
      renderPart(output(7, [text('all of it')], 12), 0, LIMIT),
      '[#7] whole output of read_file, without 12 bytes that were not kept:\nall of it',
    )
    assert.equal(renderPart(output(7, []), 0, LIMIT), '[#7] whole output of read_file:\n(no words)')
  })

  test('that does not fit says how to ask for the next part, and where it ends', () => {
    const lines = Array.from({ length: 2_000 }, (_, n) => `line ${n}`).join('\n')
    const event = output(7, [text(lines)])
    const first = renderPart(event, 0, LIMIT) ?? ''
    assert.match(first, /^\[#7\] whole output of read_file, characters 0 to (\d+) of 18889:\nline 0\n/)
    const [, from] = /\[Next part: history \{"seq": 7, "from": (\d+)\}\]$/.exec(first) ?? []
    const second = renderPart(event, Number(from), LIMIT) ?? ''
    assert.ok(second.startsWith(`[#7] whole output of read_file, characters ${from} to `))
    assert.match(renderPart(event, 18_880, LIMIT) ?? '', /\[That is its end\.\]$/)
    assert.equal(renderPart(event, 18_889, LIMIT), undefined)
  })
})

describe('hits', () => {
  test('each has its citation, its surroundings, and its place when the text is long', () => {
    const long = `${'before '.repeat(2_000)}the NEEDLE here ${'after '.repeat(2_000)}`
    const page = renderHits([output(9, [text(long)]), output(4, [text('a needle')])], 'needle', 0, LIMIT)
    assert.match(
      page,
      /^Hits 1 to 2, all of them:\n\n\[#9\] whole output of read_file, at character 14004 of 26016:\n….*the NEEDLE here.*…\n\n\[#4\] whole output of read_file:\na needle\n\n/,
    )
    assert.match(page, /"from": character from there on\.\]$/)
  })

  test('more of them are asked for by the number of those that were shown', () => {
    const hits = Array.from({ length: 11 }, (_, n) => output(40 - n, [text(`needle ${n}`)]))
    const page = renderHits(hits, 'needle', 20, LIMIT)
    assert.match(page, /^Hits 21 to 30, there are more:/)
    assert.match(page, /the same query with "from": 30\.\]$/)
  })
})
