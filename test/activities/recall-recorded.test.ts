import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { answerHistory } from '../../src/activities/answer-history.ts'
import { readTranscript } from '../../src/formats/read-transcript.ts'
import { isText } from '../../src/shared/session/content.ts'
import { type ActivityStage, openStage, RUN_1, SESSION } from '../support/activity-stage.ts'
import { importedEvents } from '../support/imported-events.ts'

// What a checkpoint says that it lost is found again, on real sessions.

const FOLDER = new URL('../../../shared/transcripts/', import.meta.url)
const RECORDED = ['claude-code/never-compacted.jsonl', 'pi/two-compactions.jsonl']
/** Every so many of the names that were lost: each search of the last one reads the whole log. */
const EVERY = 12

for (const path of RECORDED)
  test(`fault I09: ${path}: each name that a checkpoint lost is found by the history tool`, async () => {
    const file = new URL(path, FOLDER)
    if (!existsSync(file))
      return console.log(`not checked, no recorded session ../shared/transcripts/${path}`)
    const stage = await openStage({ policy: { summarizer: 'deterministic', checkpointTokens: 1_500 } })
    const { messages } = readTranscript(readFileSync(file, 'utf8'))
    await stage.store.append({
      sessionId: SESSION,
      actor: RUN_1,
      turn: null,
      events: importedEvents(messages),
    })
    const { identifiers } = await compacted(stage)
    const asked = identifiers.filter((_, n) => n % EVERY === 0)
    assert.ok(asked.length > 0, 'nothing was lost')
    const missed: string[] = []
    for (const name of asked) if (!(await isFound(stage, name))) missed.push(name)
    console.log(`${path}: ${asked.length - missed.length} of ${asked.length} lost names found again`)
    assert.deepEqual(missed, [])
    await stage.store.close()
  })

async function isFound(stage: ActivityStage, query: string): Promise<boolean> {
  const session = await stage.store.session(SESSION)
  assert.ok(session !== null)
  const { content, isError } = await answerHistory(stage.deps, session, { input: { query } })
  assert.equal(isError, false)
  return content.some((block) => isText(block) && /^\[#\d+\] /m.test(block.text))
}

async function compacted(stage: ActivityStage) {
  const compactionId = 'manual.r'
  const child = { workflowId: `${SESSION}/compact/${compactionId}`, runId: 'c' }
  const attempt = { compactionId, turn: null, cause: 'manual' as const, requestIds: [], parent: RUN_1 }
  await stage.run(child, 'sessionPrepareCompaction', attempt)
  const { paid } = await stage.run(child, 'sessionSummarize', attempt)
  await stage.run(child, 'sessionCommitCompaction', { ...attempt, paid, deterministic: true })
  const summary = await stage.store.eventByKey(SESSION, `compact.${compactionId}.summary`)
  assert.ok(summary?.type === 'compact/summary')
  return summary.data.lost
}
