import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CompactionActivityInput } from '../../src/shared/activity-protocol.ts'
import type { Actor } from '../../src/shared/ports/store.ts'
import { isToolUse, text } from '../../src/shared/session/content.ts'
import type { NewEvent } from '../../src/shared/session/events.ts'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { type ActivityStage, openStage, RUN_1, SESSION } from '../support/activity-stage.ts'
import { Gate } from '../support/gate.ts'

// A workflow of one's own may compact at any moment, also where ours never does: with calls open, or while the model answers.

const CHILD: Actor = { workflowId: `${SESSION}/compact/x`, runId: 'child-1' }
const NO_USAGE = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

const tool = {
  name: 'work',
  description: 'Works.',
  input: { jsonSchema: { type: 'object' } },
  run: async (_input: unknown, { callId }: { callId: string }) => `result of ${callId}`,
}

/** Prepare, then what happens meanwhile, then the rest. */
async function compact(
  stage: ActivityStage,
  attempt: Pick<CompactionActivityInput, 'compactionId' | 'cause' | 'turn'>,
  meanwhile: () => Promise<unknown> = async () => undefined,
) {
  const input = { ...attempt, parent: RUN_1 }
  const prepared = await stage.run(CHILD, 'sessionPrepareCompaction', input)
  if (prepared.kind === 'done') return prepared.outcome
  await meanwhile()
  await stage.run(CHILD, 'sessionSummarize', input)
  const paid = { calls: 1, reused: 0, usage: NO_USAGE }
  return stage.run(CHILD, 'sessionCommitCompaction', { ...input, paid, deterministic: false })
}

async function assertValid(stage: ActivityStage): Promise<string> {
  const { nodes } = await stage.store.surface(SESSION)
  const messages = deriveMessages(nodes)
  const next =
    messages.at(-1)?.role === 'assistant' ? [{ role: 'user' as const, content: [text('Next.')] }] : []
  assert.deepEqual(
    requestProblems([...messages, ...next], { surface: nodes }).filter((p) => !/^O6/.test(p)),
    [],
  )
  return JSON.stringify(messages)
}

/** Earlier talk, then a turn whose first reply calls `a` and `b`. */
async function calling(): Promise<ActivityStage> {
  const model = scriptedModel(
    ({ index, messages }) => {
      const isCalling = JSON.stringify(messages.at(-1)).includes('Call both.')
      if (!isCalling) return `Reply ${index}. ${'word '.repeat(900)}`
      return { content: ['a', 'b'].map((id) => ({ type: 'tool_use', id, name: 'work', input: {} })) }
    },
    {
      capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 },
      summaries: 'Words were said. Next: go on.',
    },
  )
  const stage = await openStage({ model, tools: [tool] })
  for (const requestId of ['p1', 'p2', 'p3', 'p4']) {
    const { turn } = await stage.run(RUN_1, 'sessionStartTurn', { requestId, message: 'Talk.' })
    await stage.run(RUN_1, 'sessionCallModel', { turn, step: 1 })
  }
  const { turn } = await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'p5', message: 'Call both.' })
  const reply = await stage.run(RUN_1, 'sessionCallModel', { turn, step: 1 })
  assert.ok(reply.kind === 'reply' && reply.calls.length === 2)
  return stage
}

const run = (stage: ActivityStage, callId: string) =>
  stage.run(RUN_1, 'sessionRunTool', { turn: 5, step: 1, callId })

describe('compactions with something in flight', () => {
  test('fault C04 fault C06 fault C08: planned when one of two parallel calls has its result, committed when both have', async () => {
    const stage = await calling()
    await run(stage, 'a')
    const outcome = await compact(stage, { compactionId: 'manual.first', cause: 'manual', turn: 5 }, () =>
      run(stage, 'b'),
    )
    assert.equal(outcome.outcome, 'compacted')
    const said = await assertValid(stage)
    for (const id of ['a', 'b']) assert.equal(said.split(`result of ${id}`).length, 2, `one result of ${id}`)
    await stage.run(RUN_1, 'sessionCallModel', { turn: 5, step: 2 })
    for (const requestId of ['q1', 'q2', 'q3']) {
      const { turn } = await stage.run(RUN_1, 'sessionStartTurn', { requestId, message: 'Talk.' })
      await stage.run(RUN_1, 'sessionCallModel', { turn, step: 1 })
    }
    assert.equal(
      (await compact(stage, { compactionId: 'manual.second', cause: 'manual', turn: null })).outcome,
      'compacted',
    )
    await assertValid(stage)
    const { nodes } = await stage.store.surface(SESSION)
    const checkpoints = nodes.flatMap(({ key }, place) => (key.endsWith('.checkpoint') ? [place] : []))
    assert.deepEqual(checkpoints, [0])
  })

  test('fault C09: no list of open calls stays behind: a compaction leaves the open round, and its calls still run', async () => {
    const stage = await calling()
    await compact(stage, { compactionId: 'manual.r', cause: 'manual', turn: 5 })
    const { nodes } = await stage.store.surface(SESSION)
    const open = nodes.flatMap((node) =>
      node.type === 'assistant/message' ? node.data.content.filter(isToolUse).map(({ id }) => id) : [],
    )
    assert.deepEqual(open, ['a', 'b'])
    for (const id of open) assert.equal((await run(stage, id)).isError, false)
    await assertValid(stage)
  })

  test('fault C08: a result that comes a second time is not written', async () => {
    const stage = await calling()
    await run(stage, 'a')
    const head = (await stage.store.session(SESSION))?.head
    await run(stage, 'a')
    assert.equal((await stage.store.session(SESSION))?.head, head)
    await stage.run(RUN_1, 'sessionEndTurn', { turn: 5, reason: 'aborted' })
    await run(stage, 'b') // The synthetic result is there already.
    const events = await stage.store.events(SESSION, { types: ['tool/result'] })
    const results = events.flatMap((event) =>
      event.type === 'tool/result' ? [[event.data.callId, event.data.isError]] : [],
    )
    assert.deepEqual(results, [
      ['a', false],
      ['b', true],
    ])
  })

  test('fault G03: the usage of a request that was built before a compaction, and came after it, triggers nothing', async () => {
    const gate = new Gate()
    const usage = { ...NO_USAGE, inputTokens: 75_000, outputTokens: 10 }
    let held = false
    const model = scriptedModel(
      async ({ index }) => {
        if (!held) return `Reply ${index}.`
        await gate.wait()
        return { content: [text('Late.')], usage }
      },
      {
        capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 },
        summaries: 'Words were said. Next: go on.',
      },
    )
    const stage = await openStage({ model })
    const seed = (n: number): NewEvent => ({
      key: `seed.${n}`,
      type: 'assistant/message',
      turn: null,
      step: null,
      data: {
        content: [text('word '.repeat(6_000))],
        usage: null,
        stopReason: 'end_turn',
        provider: 'scripted',
        model: 'x',
      },
      tokens: 6_000,
      surfaceOp: 'append',
    })
    const events = Array.from({ length: 10 }, (_, n) => seed(n))
    await stage.store.append({ sessionId: SESSION, actor: RUN_1, turn: null, events })
    const { turn } = await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'p1', message: 'Go.' })
    held = true
    const answer = stage.run(RUN_1, 'sessionCallModel', { turn, step: 1 })
    await gate.reached
    const outcome = await compact(stage, { compactionId: 'manual.r', cause: 'manual', turn })
    assert.equal(outcome.outcome, 'compacted')
    gate.open()
    const { reading } = await answer
    assert.equal(reading.pressure, 'none')
    assert.ok(reading.tokens < 10_000, `${reading.tokens} tokens`)
    await assertValid(stage)
  })
})
