import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import { makeCut, WANTED_MIN } from '../../bench/ledger/cuts.ts'
import { recall } from '../../bench/ledger/presence.ts'
import { CORPUS, loadSession, type Session, sum } from '../../bench/ledger/sessions.ts'
import { type ContentBlock, isText, isToolResult, isToolUse } from '../../src/shared/session/content.ts'
import { type ActivityStage, openStage, RUN_1, SESSION } from '../support/activity-stage.ts'
import { importedEvents } from '../support/imported-events.ts'

// Twenty compactions in a row of sessions that people had, through the activities and the store, without a model.

const RECORDED = [
  'claude-code/never-compacted.jsonl',
  'claude-code/auto-compaction.jsonl',
  'claude-code/manual-compaction.jsonl',
]
const GENERATIONS = 20
/** A compaction leaves the newest unit, so a part that is little more than that gives none. */
const PARTS = 32
const PINS = ['Never push to main.\n\tAsk  first: “always”.', 'ポート 8443 を使う 😀']

const POLICY = {
  summarizer: 'deterministic',
  checkpointTokens: 1_500,
  userTextTokens: 1_000,
  pins: { texts: PINS },
}

describe('H7: twenty compactions in a row of recorded sessions', () => {
  for (const path of RECORDED)
    test(`H7: ${path}: pins byte for byte, each checkpoint within its budget, recall of each generation`, async (context) => {
      if (!existsSync(new URL(path, CORPUS)))
        return context.diagnostic(`not checked, no recorded session ../shared/transcripts/${path}`)
      const session = loadSession(path)
      const stage = await openStage({ policy: POLICY })
      const recalls: string[] = []
      let written = 0
      let generation = 0
      for (const [part, end] of ends(session).entries()) {
        const messages = session.messages.slice(0, end)
        const events = importedEvents(
          messages.map(({ role, blocks }) => ({ role, content: blocks as ContentBlock[] })),
        )
        await stage.store.append({
          sessionId: SESSION,
          actor: RUN_1,
          turn: null,
          events: events.slice(written),
        })
        written = events.length
        const outcome = await compacted(stage, part)
        if (outcome === 'too-small' || outcome === 'only-tail') continue
        assert.equal(outcome, 'compacted', `part ${part}`)
        const page = await checkpointOf(stage, ++generation)
        const { wanted, root } = makeCut(session, { from: 0, spanEnd: end, tailEnd: end })
        if (wanted.size >= WANTED_MIN) recalls.push(recall(wanted, page, root).toFixed(2))
      }
      assert.ok(generation >= GENERATIONS, `${generation} compactions`)
      context.diagnostic(
        `${generation} compactions, recall in 2,500 tokens, by generation: ${recalls.join(' ')}`,
      )
      await stage.store.close()
    })
})

/** The one checkpoint of the surface, within its budget and with every pin, and what stands behind it. */
async function checkpointOf({ store }: ActivityStage, generation: number): Promise<string> {
  const { nodes } = await store.surface(SESSION)
  const checkpoints = nodes.filter(({ key }) => key.endsWith('.checkpoint'))
  assert.equal(checkpoints.length, 1, `generation ${generation}: earlier checkpoints are merged`)
  const limit = (await store.session(SESSION))?.header.policy.checkpointLimitTokens ?? 0
  assert.ok((checkpoints[0]?.tokens ?? limit + 1) <= limit, `generation ${generation}: too large`)
  const texts = nodes.flatMap(({ data }) => data.content.filter(isText).map(({ text }) => text))
  for (const pin of PINS)
    assert.ok(texts[0]?.includes(pin), `generation ${generation}: a pin is not as it was`)
  return texts.join('\n')
}

/** Places of about equally many tokens, none of them inside a pair. */
function ends({ messages, tokens }: Session): number[] {
  const open = new Set<string>()
  const part = sum(tokens) / PARTS
  const found: number[] = []
  let passed = 0
  for (const [index, { blocks }] of messages.entries()) {
    for (const block of blocks as ContentBlock[]) {
      if (isToolUse(block)) open.add(block.id)
      if (isToolResult(block)) open.delete(block.tool_use_id)
    }
    passed += tokens[index] ?? 0
    const isDue = passed >= part * (found.length + 1) && found.length < PARTS - 1
    if (isDue && open.size === 0) found.push(index + 1)
  }
  return [...found, messages.length]
}

async function compacted(stage: ActivityStage, part: number): Promise<string | undefined> {
  const compactionId = `manual.part${part}`
  const child = { workflowId: `${SESSION}/compact/${compactionId}`, runId: 'c' }
  const attempt = { compactionId, turn: null, cause: 'manual' as const, requestIds: [], parent: RUN_1 }
  const prepared = await stage.run(child, 'sessionPrepareCompaction', attempt)
  if (prepared.kind === 'done') return prepared.outcome.reason ?? prepared.outcome.outcome
  const { paid } = await stage.run(child, 'sessionSummarize', attempt)
  const { outcome } = await stage.run(child, 'sessionCommitCompaction', {
    ...attempt,
    paid,
    deterministic: true,
  })
  return outcome
}
