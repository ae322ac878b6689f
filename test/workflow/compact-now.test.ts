import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ManualCompactionError } from '../../src/client/index.ts'
import { isSessionError } from '../../src/shared/errors.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { eventually } from '../support/eventually.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'

// A person's compaction from the client to the log and back, on the real path.

const READS = 4
const words: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => 'word '.repeat(900),
}

/** A summary that never comes, until its call is aborted. */
let holdSummaries = false
let badSummaries = false
const model = scriptedModel(
  ({ messages }) => {
    const results = messages.flatMap((message) =>
      message.content.filter((block) => block.type === 'tool_result'),
    ).length
    if (results >= READS) return 'Done.'
    return { content: [{ type: 'tool_use', id: `c${messages.length}`, name: 'words', input: {} }] }
  },
  {
    capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 },
    summaries: async (_request, { signal }) => {
      if (badSummaries) return { content: [{ type: 'text', text: ' ' }] }
      if (holdSummaries)
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      return 'Words were read four times. Next: nothing.'
    },
  },
)

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [words])
})
after(() => real.close())

async function idleSession() {
  const session = await real.start()
  await (await session.prompt('Read the words.')).result({ timeoutMs: 120_000 })
  return session
}

describe('compactNow', () => {
  test('D1: an idle session compacts with every field of the result, owner null', async () => {
    const session = await idleSession()
    const result = await session.compactNow({ focus: 'the words' })
    assert.ok(result !== null)
    assert.equal(result.cause, 'manual')
    assert.equal(result.turn, null)
    assert.equal(result.focus, 'the words')
    assert.ok(
      result.startSeq < result.summarySeq &&
        result.summarySeq < result.checkpointSeq &&
        result.checkpointSeq < result.endSeq,
    )
    assert.ok(result.tokensAfter < result.tokensBefore)
    assert.equal(result.shadowedSeqs[0], result.shadowedRange.start)
    assert.equal(result.paid.calls, 1)
    assert.equal(
      (await session.compactionHistory())[0]?.outcome,
      'compacted',
      'the history is not behind the result',
    )
    assert.ok(result.durationMs >= 0 && result.durationMs === result.endedAt - result.startedAt)
  })

  test('D2: nothing useful is null and writes no event', async () => {
    const session = await real.start()
    const before = (await real.log(session)).length
    assert.equal(await session.compactNow(), null)
    assert.equal((await real.log(session)).length, before)
  })

  test('D8: a failed summary is ManualCompactionError summary, and the surface stays as it was', async () => {
    const session = await idleSession()
    const before = await real.store.surface(session.id)
    badSummaries = true
    try {
      await assert.rejects(session.compactNow(), (error: unknown) => {
        assert.ok(error instanceof ManualCompactionError)
        assert.equal(error.code, 'summary')
        return true
      })
    } finally {
      badSummaries = false
    }
    const after = await real.store.surface(session.id)
    assert.deepEqual(after.nodes, before.nodes)
    assert.equal(after.generation, before.generation)
  })

  test("D10: the caller's abort gives its own reason back; the bracket is closed without a checkpoint", async () => {
    const session = await idleSession()
    holdSummaries = true
    try {
      const stop = new AbortController()
      const reason = new Error('I changed my mind')
      const compaction = session.compactNow({ signal: stop.signal })
      compaction.catch(() => undefined)
      await eventually(
        () => real.store.attempts({ sessionId: session.id, state: 'open' }),
        (open) => open.length === 1,
      )
      stop.abort(reason)
      await assert.rejects(compaction, (error: unknown) => error === reason)
    } finally {
      holdSummaries = false
    }
    const events = await eventually(
      () => real.log(session),
      (log) => log.some((event) => event.type === 'compact/end'),
    )
    const ends = events.filter((event) => event.type === 'compact/end')
    assert.equal(ends.length, 1)
    assert.equal(ends[0]?.type === 'compact/end' && ends[0].data.error?.code, 'cancelled')
    assert.equal(
      events.some((event) => event.type === 'compact/summary'),
      false,
    )
  })

  test('E2: a region that is not on the surface is InvalidSpan with both seqs', async () => {
    const session = await idleSession()
    await assert.rejects(
      session.compactRegion(9_998, 9_999),
      (error: unknown) =>
        isSessionError(error, 'InvalidSpan') && /9998/.test(error.message) && /9999/.test(error.message),
    )
  })
})
