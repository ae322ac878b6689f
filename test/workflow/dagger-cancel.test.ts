import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import type { ModelClient } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { isText, text } from '../../src/shared/session/content.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { eventually } from '../support/eventually.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'

// Cancel on the real path. Without the throttle that workers set, a cancel would come after 0.8 of the heartbeat time-out, which is long here, so that a
// crowded machine is told apart from a cancel that is held back.

const HEARTBEAT_MS = 60_000
const WITHIN_MS = 10_000
/** What users are promised, and another second; the fastest of all must keep it. */
const FASTEST_MS = 2_000
const tookMs: number[] = []

/** What waits until it is aborted, by session: when it began, and when the signal reached it. */
class Held {
  #begin: () => void = () => {}
  readonly begun = new Promise<void>((resolve) => {
    this.#begin = resolve
  })
  #abort: (at: number) => void = () => {}
  readonly abortedAt = new Promise<number>((resolve) => {
    this.#abort = resolve
  })

  wait(signal: AbortSignal): Promise<never> {
    this.#begin()
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        this.#abort(performance.now())
        reject(signal.reason)
      })
    })
  }
}
const held = new Map<string, Held>()
const hold = (session: Session): Held => {
  const point = new Held()
  held.set(session.id, point)
  return point
}

const scripted = scriptedModel(
  ({ messages }) => {
    const asked = messages.at(-1)?.content.filter(isText).at(-1)?.text
    if (asked === 'Use the tool.')
      return { content: [{ type: 'tool_use', id: 'c', name: 'slow', input: {} }] }
    return asked === 'Talk.' ? 'word '.repeat(900) : 'Done.'
  },
  { capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 } },
)
const model: ModelClient = {
  ...scripted,
  async generate(request, context) {
    const problems = requestProblems(request.messages)
    assert.deepEqual(problems, [])
    const asked = request.messages.at(-1)?.content.filter(isText).at(-1)?.text
    const point = held.get(request.sessionId)
    if (point !== undefined && (asked === 'Think.' || request.purpose === 'summary'))
      return point.wait(context.signal)
    return scripted.generate(request, context)
  },
}
const slow: Tool = {
  name: 'slow',
  description: 'Waits.',
  input: { jsonSchema: { type: 'object' } },
  run: (_input, { sessionId, signal }) => held.get(sessionId)?.wait(signal) ?? Promise.resolve('done'),
}

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [slow])
})
after(() => real.close())

const start = (policy: Readonly<Record<string, unknown>> = {}) =>
  real.start({ policy, heartbeatTimeoutMs: HEARTBEAT_MS })

async function goesOn(session: Session): Promise<void> {
  held.delete(session.id)
  const turn = await session.prompt('Are you there?')
  assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
}

/** Cancels what is held; the abort must reach it in time. */
async function cancelReaches(session: Session, point: Held): Promise<void> {
  await point.begun
  const cancelledAt = performance.now()
  await session.cancelTurn({ reason: 'not this' })
  await inTime(point, cancelledAt)
}

async function inTime(point: Held, cancelledAt: number): Promise<void> {
  const late = new Promise<never>((_, reject) =>
    setTimeout(() => reject(new Error(`no abort in ${WITHIN_MS} ms`)), WITHIN_MS).unref(),
  )
  tookMs.push((await Promise.race([point.abortedAt, late])) - cancelledAt)
}

describe('† cancel reaches what runs within a second, and the abort signal reaches the call', {
  concurrency: true,
}, () => {
  test('a model call', async () => {
    const session = await start()
    const point = hold(session)
    const turn = await session.prompt('Think.')
    await cancelReaches(session, point)
    const { reason, error, message } = await turn.result({ timeoutMs: 120_000 })
    assert.deepEqual([reason, error, message], ['aborted', 'not this', null])
    await goesOn(session)
  })

  test('G4: a tool: its call gets the interrupted result, once', async () => {
    const session = await start()
    const point = hold(session)
    const turn = await session.prompt('Use the tool.')
    await cancelReaches(session, point)
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'aborted')
    await goesOn(session)
    const results = (await real.log(session)).filter((event) => event.type === 'tool/result')
    assert.deepEqual(
      results.map((event) => event.type === 'tool/result' && event.data.isError),
      [true],
    )
  })

  test('a summary under pressure: no checkpoint, the bracket ends as cancelled before the turn does', async () => {
    const session = await start({ thresholdTokens: 3_500, retainTokens: 500 })
    for (let turn = 0; turn < 4; turn++) await (await session.prompt('Talk.')).result({ timeoutMs: 120_000 })
    const before = await real.store.surface(session.id)
    const point = hold(session)
    const turn = await session.prompt('Talk.')
    await cancelReaches(session, point)
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'aborted')
    // The cancelled call is counted when it ends, which may be later.
    const tail = (await real.log(session)).filter(({ type }) => type !== 'compact/call').slice(-2)
    assert.deepEqual(
      tail.map((event) => event.type),
      ['compact/end', 'turn/end'],
    )
    assert.deepEqual(tail[0]?.type === 'compact/end' && tail[0].data.error, {
      code: 'cancelled',
      stage: 'summarize',
      message: 'not this',
    })
    const after = await real.store.surface(session.id)
    assert.deepEqual(after.nodes.slice(0, before.nodes.length), before.nodes)
    held.delete(session.id)
  })

  test('a summary that a person asked for', async () => {
    const session = await start()
    for (let turn = 0; turn < 4; turn++) await (await session.prompt('Talk.')).result({ timeoutMs: 120_000 })
    const point = hold(session)
    const stop = new AbortController()
    const compaction = session.compactNow({ signal: stop.signal })
    compaction.catch(() => undefined)
    await point.begun
    const abortedAt = performance.now()
    stop.abort(new Error('not this'))
    await inTime(point, abortedAt)
    await assert.rejects(compaction, /not this/)
    await goesOn(session)
  })
})

test('† the fastest of these took about a second', () => {
  assert.ok(Math.min(...tookMs) < FASTEST_MS, `${tookMs.map(Math.round)} ms`)
})

describe('a model client that ignores its signal', () => {
  test('holds no place of the worker: the activity has ended, its late answer is nowhere', async () => {
    const session = await start()
    let answer: () => void = () => {}
    const deaf = new Promise<void>((resolve) => {
      answer = resolve
    })
    const point = new Held()
    held.set(session.id, point)
    point.wait = async () => {
      Held.prototype.wait.call(point, new AbortController().signal).catch(() => undefined)
      await deaf
      return { content: [text('too late')], stopReason: 'end_turn', usage: null } as never
    }
    const turn = await session.prompt('Think.')
    await point.begun
    await session.cancelTurn()
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'aborted')
    await eventually(
      async () => (await session.workflow.describe()).raw.pendingActivities?.length ?? 0,
      (pending) => pending === 0,
    )
    answer()
    await goesOn(session)
    const answers = (await real.log(session)).filter((event) => event.type === 'assistant/message')
    assert.equal(answers.length, 1, 'only that of the next turn')
  })
})
