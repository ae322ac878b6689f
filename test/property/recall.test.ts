import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AnswerLimit, renderHits, renderPart } from '../../src/shared/recall/answers.ts'
import { contentText, type Recalled } from '../../src/shared/recall/event-text.ts'
import { foldCase } from '../../src/shared/recall/fold-case.ts'
import { HISTORY_TOOL } from '../../src/shared/recall/history-tool.ts'
import { text } from '../../src/shared/session/content.ts'
import { wellFormed } from '../../src/shared/session/well-formed.ts'
import { priceContent } from '../../src/shared/tokens/price.ts'
import { anyText } from './tokens-texts.ts'

const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Math.ceil(Number(process.env['FC_RUNS'] ?? 10_000) / 40)
console.log(`FC_SEED=${seed} numRuns=${numRuns}`)

const count = (page: string): number => priceContent([text(page)])
const limits = fc.constantFrom(150, 400, 2_000).map((maxTokens): AnswerLimit => ({ maxTokens, count }))

/** Long enough for several parts; well-formed, as the log has it. */
const longText = fc
  .tuple(fc.array(anyText, { maxLength: 8 }), fc.integer({ min: 1, max: 12 }))
  .map(([parts, times]) => wellFormed(parts.join('').repeat(times)))

const eventOf = (seq: number, said: string): Recalled => ({
  seq,
  time: 0,
  key: `k${seq}`,
  type: 'tool/result',
  turn: 1,
  step: 1,
  data: { callId: 'c', name: 'a_tool_with_a_long_name', content: [text(said)], isError: true },
  tokens: 0,
})

const isWellFormed = (value: string): boolean => !/\p{Surrogate}/u.test(value)

test(`the parts of any event give it back, each within its tokens, no character broken, on ${numRuns} texts`, () => {
  fc.assert(
    fc.property(longText, limits, (said, limit) => {
      let read = ''
      for (let from: number | undefined = 0; from !== undefined; ) {
        const page: string =
          renderPart(eventOf(412, said), from, limit) ?? assert.fail(`no part from ${from}`)
        assert.ok(count(page) <= limit.maxTokens, `${count(page)} tokens of ${limit.maxTokens}`)
        assert.ok(isWellFormed(page))
        const next: RegExpExecArray | null = /\n\[Next part: history \{"seq": 412, "from": (\d+)\}\]$/.exec(
          page,
        )
        const body = page.slice(page.indexOf('\n') + 1, next?.index)
        const isFirst = from === 0 && next === null
        read += isFirst ? body.replace(/^\(no words\)$/, '') : body.replace(/\n\[That is its end\.\]$/, '')
        from = next === null ? undefined : Number(next[1])
      }
      assert.equal(read, said)
    }),
    { seed, numRuns },
  )
})

test('any hits are within their tokens, whole, cited, and show what was asked for', () => {
  const piece = fc.tuple(longText, fc.nat(), fc.integer({ min: 1, max: 60 }))
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 11 }), limits, (pieces, limit) => {
      const [[first, at, length]] = pieces as [[string, number, number]]
      const start = first.length === 0 ? 0 : at % first.length
      const query = wellFormed(first.slice(start, start + length))
      fc.pre(query.trim() !== '')
      const events = pieces.map(([said], n) => eventOf(900 - n, `${said}${query}`))
      const hits = events.filter((event) =>
        foldCase(contentText(event.data.content)).includes(foldCase(query)),
      )
      fc.pre(hits.length > 0)
      const page = renderHits(hits, query, 0, limit)
      assert.ok(count(page) <= limit.maxTokens, `${count(page)} tokens of ${limit.maxTokens}`)
      assert.ok(isWellFormed(page))
      assert.ok(page.includes(`[#${hits[0]?.seq}] `))
      if (limit.maxTokens === 2_000 && query.length < 20) assert.ok(foldCase(page).includes(foldCase(query)))
    }),
    { seed, numRuns },
  )
})

test('the tool’s own words name only what it takes', () => {
  assert.deepEqual(Object.keys(HISTORY_TOOL.inputSchema['properties'] as object), ['query', 'seq', 'from'])
})
