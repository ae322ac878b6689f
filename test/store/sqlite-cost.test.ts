import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import { text } from '../../src/shared/session/content.ts'
import { keys } from '../../src/shared/session/keys.ts'
import { AS_OWNER, appendTo, SESSION } from '../../src/store/contract/harness.ts'
import { opening } from '../../src/store/contract/sample-attempt.ts'
import {
  assistantMessage,
  sampleHeader,
  stepStart,
  toolResult,
  userMessage,
} from '../../src/store/contract/sample-events.ts'
import { sqliteStore } from '../../src/store/index.ts'

/** A query that reads the whole session costs some 30 times more on this log. */
const EVENTS = 16_000
const MOST = 5

it('no operation of a step, a turn or an attempt gets dearer with the length of the log', async () => {
  const store = sqliteStore({ path: ':memory:' })
  await store.createSession({ ...AS_OWNER, lifeRunId: 'run-1', header: sampleHeader() })
  await cost(store, 1)
  const early = [await cost(store, 2), await cost(store, 3)]
  for (let from = 0; from < EVENTS; from += 400) {
    const batch = Array.from({ length: 400 }, (_, i) => userMessage(`m${from + i}`, 'words'))
    await appendTo(store, null, batch)
  }
  const late = [await cost(store, 4), await cost(store, 5)]
  await store.close()
  for (const name of Object.keys(early[0] ?? {})) {
    const [before, after] = [early, late].map((costs) => Math.min(...costs.map((each) => each[name] ?? 0)))
    assert.ok(
      (after ?? 0) < MOST * (before ?? 0) + 5,
      `${name}: ${before} ms at first, ${after} ms after ${EVENTS} events`,
    )
  }
})

/** Processor milliseconds of 20 turns, by operation. */
async function cost(store: SessionStore, series: number): Promise<Record<string, number>> {
  const spent: Record<string, number> = {}
  const timed = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const before = process.cpuUsage()
    const result = await work()
    const { user, system } = process.cpuUsage(before)
    spent[name] = (spent[name] ?? 0) + (user + system) / 1000
    return result
  }
  for (let i = 0; i < 20; i++) await oneTurn(store, `${series}-${i}`, timed)
  return spent
}

type Timed = <T>(name: string, work: () => Promise<T>) => Promise<T>

async function oneTurn(store: SessionStore, id: string, timed: Timed): Promise<void> {
  const prompt = { requestId: id, content: [text('hi')], source: 'prompt' as const, tokens: 2 }
  const { turn } = await timed('startTurn', () =>
    store.startTurn({ ...AS_OWNER, requestId: id, messages: [prompt] }),
  )
  const step = [
    stepStart(turn, 1),
    assistantMessage(turn, 1, 'look', ['c1']),
    toolResult(turn, 1, 'c1', 'found'),
  ]
  const { events, generation, head } = await timed('append', () => appendTo(store, turn, step))
  await timed('append again', () => appendTo(store, turn, step))
  await timed('eventByKey', () => store.eventByKey(SESSION, keys.assistant(turn, 1)))
  await timed('events of a turn', () => store.events(SESSION, { turn }))
  await timed('events of a rare type', () => store.events(SESSION, { types: ['request/header'] }))
  const shadowedSeqs = events.slice(1).map((event) => event.seq)
  const plan = {
    shadowedSeqs,
    shadowedTokenCount: 9,
    generation,
    chunkEnds: shadowedSeqs.slice(-1),
    tokensBefore: 9,
    checkpointTokens: 9,
  }
  const compactionId = `manual.${id}`
  const opened = opening({ head, plan, turn })
  await timed('openAttempt', () =>
    store.openAttempt({ ...opened, attempt: { ...opened.attempt, compactionId } }),
  )
  await timed('closeAttempt', () =>
    store.closeAttempt({
      sessionId: SESSION,
      compactionId,
      error: { code: 'cancelled', stage: 'test', message: 'test' },
    }),
  )
  await timed('turnByRequest', () => store.turnByRequest(SESSION, id))
  await timed('endTurn', () => store.endTurn({ ...AS_OWNER, turn, reason: 'completed' }))
}
