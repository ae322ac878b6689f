import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'libsql'
import type { Session } from '../../src/client/index.ts'
import { isCompactCheckpointSource } from '../../src/shared/checkpoint-source.ts'
import { SessionError } from '../../src/shared/errors.ts'
import { text } from '../../src/shared/session/content.ts'
import { messageSourceSchema, type SessionEvent } from '../../src/shared/session/events.ts'
import { foldLog } from '../../src/shared/session/log.ts'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import { sqliteStore } from '../../src/store/index.ts'
import {
  type Acceptance,
  failsWith,
  openAcceptance,
  reached,
  SUMMARY,
  whenIdle,
} from '../support/acceptance.ts'

// F: the bracket and the log, as a real session writes them.

let stage: Acceptance
before(async () => {
  stage = await openAcceptance()
})
after(() => stage.close())

const surfaceOf = async (session: Session) => {
  const { nodes, generation } = await stage.surface(session)
  return JSON.stringify({ nodes, generation })
}

const bracketOf = async (session: Session) =>
  (await stage.log(session)).filter(({ key }) => key.startsWith('compact.'))

test('F1, F2, F6, F7: start, calls, summary, checkpoint, end; one owner; what they cite and count', async () => {
  const session = await stage.spoken()
  const before = (await stage.surface(session)).nodes
  await session.compactNow()
  const [start, call, summary, checkpoint, end, ...more] = await bracketOf(session)
  assert.deepEqual(more, [])
  assert.ok(start?.type === 'compact/start' && call?.type === 'compact/call')
  assert.ok(summary?.type === 'compact/summary' && checkpoint?.type === 'user/message')
  assert.ok(end?.type === 'compact/end')
  assert.deepEqual(
    [checkpoint.seq, end.seq, checkpoint.time, end.time],
    [summary.seq + 1, summary.seq + 2, summary.time, summary.time],
    'the last three follow each other, written at one moment',
  )
  assert.deepEqual(end.data, { compactionId: start.data.compactionId, turn: start.data.turn })
  const span = before.slice(0, -1)
  const { shadowedSeqs, shadowedTokenCount, shadowedRange } = summary.data
  assert.deepEqual(
    shadowedSeqs,
    span.map(({ seq }) => seq),
  )
  assert.equal(
    shadowedTokenCount,
    span.reduce((sum, { tokens }) => sum + tokens, 0),
  )
  assert.deepEqual(checkpoint.surfaceOp, { op: 'replace', ...shadowedRange })
  assert.deepEqual(checkpoint.sourceEventSeqs, [start.seq, summary.seq, ...shadowedSeqs])
  const log = await stage.log(session)
  const marked = log.filter(
    (event) => event.type === 'user/message' && isCompactCheckpointSource(event.data.source),
  )
  assert.deepEqual(marked, [checkpoint])
  for (const source of [
    ...messageSourceSchema.options,
    undefined,
    null,
    '',
    'DURABLE-COMPACTION/CHECKPOINT',
    {},
  ])
    assert.equal(isCompactCheckpointSource(source), source === 'durable-compaction/checkpoint')
})

test('F1: the last three are one transaction: when the last of them cannot be written, none is', async () => {
  const session = await stage.spoken()
  const before = await surfaceOf(session)
  const path = join(stage.databaseFolder, 'sessions.db')
  const gate = stage.holdSummaries(session)
  const running = session.compactNow()
  running.catch(() => undefined)
  await reached(gate, running)
  const rival = new Database(path)
  // The end of a success has no error; that of the failure that follows has one, and passes.
  stage.hooks.on(session.id, 'commitAttempt', async (write) => {
    rival.exec(`CREATE TRIGGER no_end BEFORE INSERT ON event WHEN NEW.type = 'compact/end'
      BEGIN SELECT RAISE(ABORT, 'no room for the end'); END`)
    try {
      return await write()
    } catch (error) {
      throw new SessionError('LogRejected', String(error))
    } finally {
      rival.exec('DROP TRIGGER no_end')
      rival.close()
    }
  })
  gate.open()
  await failsWith(running, 'commit', /no room for the end/)
  const types = (await bracketOf(session)).map(({ type }) => type)
  assert.deepEqual(types, ['compact/start', 'compact/call', 'compact/end'])
  assert.equal(await surfaceOf(session), before)
})

describe('F2, F4: an attempt that fails', { concurrency: true }, () => {
  const CASES: Record<string, (session: Session) => Promise<void>> = {
    summary: async (session) => {
      stage.summarize(session, () => '')
      await failsWith(session.compactNow(), 'summary')
    },
    cancelled: async (session) => {
      const gate = stage.holdSummaries(session)
      const stop = new AbortController()
      const running = session.compactNow({ signal: stop.signal })
      running.catch(() => undefined)
      await reached(gate, running)
      stop.abort(new Error('enough'))
      await assert.rejects(running, /enough/)
    },
    commit: async (session) => {
      stage.hooks.on(session.id, 'commitAttempt', async () => {
        throw new SessionError('LogRejected', 'The log refuses it.')
      })
      await failsWith(session.compactNow(), 'commit')
    },
    interrupted: async (session) => {
      const gate = stage.holdSummaries(session)
      const running = session.compactNow()
      running.catch(() => undefined)
      await reached(gate, running)
      const [open] = await stage.store.attempts({ sessionId: session.id, state: 'open' })
      await stage.client.workflow.getHandle(open?.childWorkflowId ?? '').terminate()
      await failsWith(running, 'interrupted')
      gate.open()
    },
  }
  for (const [code, fail] of Object.entries(CASES)) {
    test(`F2, F4: ${code}: one end with code, stage and message, the owner of its start, the surface byte for byte as before`, async () => {
      const session = await stage.spoken()
      await whenIdle(session)
      const before = await surfaceOf(session)
      await fail(session)
      await whenIdle(session)
      assert.equal(await surfaceOf(session), before)
      // A cancelled call is counted when it ends, which may be later.
      const events = (await bracketOf(session)).filter(({ type }) => type !== 'compact/call')
      const [start, end] = [events[0], events.at(-1)]
      assert.ok(start?.type === 'compact/start' && end?.type === 'compact/end')
      const { error, ...owner } = end.data
      assert.deepEqual(owner, { compactionId: start.data.compactionId, turn: start.data.turn })
      assert.equal(error?.code, code)
      assert.ok(error?.stage !== '' && (error?.message.length ?? 0) > 3)
      assert.deepEqual(
        events.filter(({ type }) => type === 'compact/summary' || type === 'compact/end'),
        [end],
      )
    })
  }
})

test('F5: the log alone gives the surface, the messages and the generation, and so does the store opened anew', async () => {
  const session = await stage.spoken()
  await session.compactNow()
  for (const prompt of ['Read both.', 'Talk.', 'Talk.', 'Talk.']) await stage.talk(session, prompt)
  await session.compactNow({ whenBusy: 'wait' })
  await stage.talk(session, 'Well?')
  const log = await stage.log(session)
  const surface = await stage.surface(session)
  const folded = foldLog(log)
  assert.equal(surface.generation, 2)
  const again = sqliteStore({ path: join(stage.databaseFolder, 'sessions.db') })
  const reopened = await again.surface(session.id)
  await again.close()
  for (const { nodes, generation, head } of [
    { nodes: folded.surface, generation: folded.generation, head: folded.nextSeq },
    reopened,
  ]) {
    assert.equal(JSON.stringify(nodes), JSON.stringify(surface.nodes))
    assert.equal(JSON.stringify(deriveMessages(nodes)), JSON.stringify(deriveMessages(surface.nodes)))
    assert.deepEqual([generation, head], [surface.generation, surface.head])
  }
})

test('F8: events that are no messages do no harm inside a bracket', async () => {
  const session = await stage.spoken()
  const gate = stage.holdSummaries(session)
  const running = session.compactNow()
  await reached(gate, running)
  await stage.append(session, {
    key: 'pin.p1',
    type: 'session/pin',
    turn: null,
    step: null,
    data: { id: 'p1', text: 'Never push to main.' },
    tokens: 0,
  })
  gate.open()
  const result = (await running) ?? assert.fail('null')
  const log = await stage.log(session)
  const pin = log.findIndex(({ type }) => type === 'session/pin')
  assert.ok(result.startSeq < pin && pin < result.endSeq)
  assert.ok(
    JSON.stringify(log[result.checkpointSeq]).includes('Never push to main.'),
    'and it is in the checkpoint',
  )
})

test('F9: every paid call is in the log whole, also those that came to nothing', async () => {
  const session = await stage.spoken()
  const raw = [{ type: 'thinking', thinking: 'Hm.', signature: 's' }, text('Words were')]
  const usage = { inputTokens: 4_321, outputTokens: 17, cacheReadTokens: 5, cacheWriteTokens: 6 }
  stage.summarize(session, () => ({ content: raw, stopReason: 'max_tokens', usage, model: '100000-2026' }))
  await failsWith(session.compactNow(), 'summary')
  const calls = await stage.ofType(session, 'compact/call')
  const recorded = { provider: 'scripted', model: '100000-2026', maxTokens: 4_000, rawOutput: raw, usage }
  const { compactionId, requestHead } = calls[0]?.data ?? assert.fail('no call')
  assert.deepEqual(
    calls.map(({ data }) => data),
    [
      {
        compactionId,
        index: 0,
        purpose: 'summary',
        ...recorded,
        stopReason: 'max_tokens',
        accepted: false,
        refusedBecause: 'truncated',
        requestHead,
      },
      {
        compactionId,
        index: 1,
        purpose: 'retry',
        ...recorded,
        stopReason: 'max_tokens',
        accepted: false,
        refusedBecause: 'truncated',
        requestHead,
      },
    ],
  )
  const outcome = (await stage.store.attempt(session.id, compactionId))?.outcome
  assert.deepEqual(outcome?.paid, {
    calls: 2,
    reused: 0,
    usage: { inputTokens: 8_642, outputTokens: 34, cacheReadTokens: 10, cacheWriteTokens: 12 },
  })
  stage.summarize(session, () => SUMMARY)
  const result = (await session.compactNow({ whenBusy: 'wait' })) ?? assert.fail('null')
  const accepted = (await stage.ofType(session, 'compact/call')).at(-1)?.data
  const [summary] = await stage.ofType(session, 'compact/summary')
  assert.deepEqual([accepted?.accepted, accepted?.refusedBecause], [true, undefined])
  assert.deepEqual(
    [summary?.data.rawOutput, summary?.data.usage, summary?.data.llmStreamCall, summary?.data.maxTokens],
    [accepted?.rawOutput, accepted?.usage, true, 4_000],
  )
  assert.deepEqual(result.paid.usage, accepted?.usage)
})

test('F10: durations are those between start and end', async () => {
  const session = await stage.spoken()
  stage.summarize(session, async () => {
    await sleep(300)
    return SUMMARY
  })
  const result = (await session.compactNow()) ?? assert.fail('null')
  const log = await stage.log(session)
  const time = (seq: number) => (log[seq] as SessionEvent).time
  assert.deepEqual(
    [result.startedAt, result.endedAt, result.durationMs],
    [time(result.startSeq), time(result.endSeq), time(result.endSeq) - time(result.startSeq)],
  )
  assert.ok(result.durationMs >= 300, `${result.durationMs}`)
})
