import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { detectFormat } from '../../src/formats/detect-format.ts'
import { TranscriptError } from '../../src/formats/errors.ts'
import { readTranscript } from '../../src/formats/read-transcript.ts'
import { planReplay } from '../../src/formats/replay-plan.ts'
import {
  accountingProblem,
  type ReadTranscript,
  TRANSCRIPT_FORMATS,
  type TranscriptFormat,
} from '../../src/formats/transcript.ts'
import { anyText, linesOf } from './odd-texts.ts'

const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 300)
console.log(`FC_SEED=${seed} FC_RUNS=${numRuns}`)

function check(text: string, format: TranscriptFormat | undefined): ReadTranscript | undefined {
  let transcript: ReadTranscript
  try {
    detectFormat(text)
    transcript = readTranscript(text, format === undefined ? {} : { format })
  } catch (error) {
    assert.ok(error instanceof TranscriptError, String(error))
    return undefined
  }
  assert.equal(accountingProblem(transcript.report), undefined)
  assertSound(transcript)
  return transcript
}

/** What every reader promises of its messages, whatever it was given. */
function assertSound(transcript: ReadTranscript): void {
  const calls = new Set<string>()
  const answered = new Set<string>()
  let afterReply: ReadonlySet<string> = new Set()
  let last: ReadTranscript['messages'][number] | undefined
  for (const message of transcript.messages) {
    assert.ok(message.content.length > 0)
    assert.ok(JSON.stringify(message).search(/\p{Surrogate}/u) === -1)
    const ids = message.content.filter(({ type }) => type === 'tool_use').map(({ id }) => String(id))
    const results = message.content.filter(({ type }) => type === 'tool_result')
    if (message.role === 'assistant') {
      for (const id of ids) {
        assert.ok(!calls.has(id) && /^[A-Za-z0-9_-]+$/.test(id), id)
        calls.add(id)
      }
      const calledBefore = last?.content.some(({ type }) => type === 'tool_use')
      assert.ok(last?.role !== 'assistant' || calledBefore, 'a reply without calls, and a reply behind it')
      afterReply = new Set(ids)
    } else if (results.length > 0) {
      assert.deepEqual([results.length, message.content.length], [1, 1])
      const id = String(results[0]?.['tool_use_id'])
      assert.ok(afterReply.has(id) && !answered.has(id), 'a result that does not follow its reply')
      answered.add(id)
    } else afterReply = new Set()
    last = message
  }
  const unanswered = transcript.report.unansweredCalls.map(({ callId }) => callId)
  assert.deepEqual(new Set(unanswered), new Set([...calls].filter((id) => !answered.has(id))))
}

/** As far as it can be replayed, every message is one prompt, one reply or one result. */
function assertPlanned(transcript: ReadTranscript): void {
  try {
    const { prompts, replies, results } = planReplay(transcript)
    assert.equal(prompts.length + replies.length + results.size, transcript.messages.length)
  } catch (error) {
    assert.ok(error instanceof TranscriptError && error.code === 'not-replayable', String(error))
    assert.equal(transcript.messages[0]?.role, 'assistant')
  }
}

test('any text, read as any format, is a sound transcript or a TranscriptError', () => {
  fc.assert(
    fc.property(
      anyText,
      fc.option(fc.constantFrom(...TRANSCRIPT_FORMATS), { nil: undefined }),
      (text, format) => {
        const transcript = check(text, format)
        if (transcript) assertPlanned(transcript)
      },
    ),
    { seed, numRuns },
  )
})

for (const format of ['claude-code', 'codex', 'pi', 'dsh'] as const)
  test(`lines of odd records, read as ${format}`, () => {
    let read = 0
    fc.assert(
      fc.property(linesOf(format), (text) => {
        const transcript = check(text, format)
        if (transcript === undefined) return
        read++
        assertPlanned(transcript)
      }),
      { seed, numRuns },
    )
    assert.ok(read > numRuns / 10, `only ${read} of ${numRuns} texts held a message`)
  })
