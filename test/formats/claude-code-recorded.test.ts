import assert from 'node:assert/strict'
import { accountingProblem } from '../../src/formats/transcript.ts'
import { blocksOf, callsOf, read, resultsOf, testRecorded } from './recorded-files.ts'

type Fields = Record<string, unknown>

const text = (value: string) => ({ type: 'text', text: value })

interface Expected {
  readonly calls: number
  readonly unanswered: number
  readonly thinking: number
  readonly messages: number
  readonly compactions?: readonly { readonly tokensBefore: number; readonly atMessage: number }[]
  readonly duplicates?: number
  readonly sideChains?: number
  readonly broken?: readonly number[]
}

const RECORDED: Record<string, Expected> = {
  'auto-compaction': {
    calls: 186,
    unanswered: 0,
    thinking: 19,
    messages: 345,
    compactions: [{ tokensBefore: 167_094, atMessage: 231 }],
  },
  'manual-compaction': {
    calls: 242,
    unanswered: 0,
    thinking: 6,
    messages: 465,
    compactions: [{ tokensBefore: 142_431, atMessage: 288 }],
  },
  'never-compacted': { calls: 290, unanswered: 0, thinking: 91, messages: 396 },
  'broken-line': { calls: 296, unanswered: 1, thinking: 320, messages: 646, broken: [859] },
  'image-in-tool-result': { calls: 1, unanswered: 0, thinking: 0, messages: 2 },
  'resumed-duplicates': { calls: 65, unanswered: 1, thinking: 49, messages: 138, duplicates: 177 },
  japanese: { calls: 13, unanswered: 0, thinking: 0, messages: 25, sideChains: 2 },
}

for (const [name, expected] of Object.entries(RECORDED))
  testRecorded(
    `claude-code/${name}.jsonl`,
    'counts, and every block of the main line as it was recorded',
    (raw) => {
      const transcript = read(raw)
      const { report } = transcript
      assert.equal(accountingProblem(report), undefined)
      assert.equal(callsOf(transcript).length, expected.calls)
      assert.equal(report.unansweredCalls.length, expected.unanswered)
      assert.equal(resultsOf(transcript).length, expected.calls - expected.unanswered)
      assert.equal(blocksOf(transcript).filter(({ type }) => type === 'thinking').length, expected.thinking)
      assert.equal(transcript.messages.length, expected.messages)
      assert.deepEqual(
        report.compactions.map(({ tokensBefore, atMessage }) => ({ tokensBefore, atMessage })),
        expected.compactions ?? [],
      )
      assert.equal(report.duplicateMessages, expected.duplicates ?? 0)
      assert.equal(report.sideChains.length, expected.sideChains ?? 0)
      assert.deepEqual(
        report.brokenLines.map(({ line }) => line),
        expected.broken ?? [],
      )
      const blocks = new Set(blocksOf(transcript).map((block) => JSON.stringify(canonical(block))))
      for (const block of mainLineBlocks(raw))
        assert.ok(blocks.has(JSON.stringify(canonical(block))), JSON.stringify(block).slice(0, 200))
    },
  )

/** Every block of every message record that is no side chain, no summary and no error display, read in the plainest way. */
function mainLineBlocks(raw: string): Fields[] {
  const blocks: Fields[] = []
  for (const line of raw.split('\n')) {
    let parsed: Fields
    try {
      parsed = JSON.parse(line) as Fields
    } catch {
      continue
    }
    if (parsed['type'] !== 'user' && parsed['type'] !== 'assistant') continue
    if (parsed['isSidechain'] || parsed['isCompactSummary'] || parsed['isApiErrorMessage']) continue
    const { content } = parsed['message'] as { content: string | Fields[] }
    blocks.push(...(typeof content === 'string' ? [text(content)] : content))
  }
  return blocks
}

function canonical(block: Fields): Fields {
  if (block['type'] !== 'tool_result') return block
  const { tool_use_id, content, is_error } = block
  const list = typeof content === 'string' ? (content === '' ? [] : [text(content)]) : content
  return { tool_use_id, content: list, is_error: is_error === true }
}

testRecorded('claude-code/auto-compaction.jsonl', 'words that the queue alone holds', (raw) => {
  const prompts = read(raw).messages.filter(({ source }) => source === 'prompt')
  assert.deepEqual(
    prompts.map(({ content }) => content[0]?.['text']),
    [
      'Implement spotter-gqc',
      'check again',
      'new beads for the epic were added. tackle them',
      'did you push?',
    ],
  )
})

for (const name of ['auto-compaction.summary-call', 'manual-compaction.summary-call', 'every-record-type'])
  testRecorded(`claude-code/${name}.jsonl`, 'every record has a fate', (raw) => {
    const { report } = read(raw)
    assert.equal(accountingProblem(report), undefined)
    assert.equal(report.lines, raw.trim().split('\n').length)
  })
