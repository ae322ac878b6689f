import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { SessionClient, type Watched } from '../../src/client/index.ts'
import { SessionError } from '../../src/shared/errors.ts'
import { text } from '../../src/shared/session/content.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { call, type FaultSessions, openFaultSessions, rounds } from '../support/fault-sessions.ts'
import { Gate } from '../support/gate.ts'

// What a watcher in another process sees: it has the store's file, and a connection of its own to it.

let faults: FaultSessions
let elsewhere: SessionClient
let store: ReturnType<typeof sqliteStore>
before(
  async () => {
    faults = await openFaultSessions()
    store = sqliteStore({ path: join(faults.folder, 'sessions.db') })
    elsewhere = new SessionClient({ client: faults.client, store })
  },
  { timeout: 180_000 },
)
after(async () => {
  await store.close()
  await faults.close()
})

const LIMIT = { timeout: 180_000 }
/** An attempt that is made again would say its text again. */
const ONCE = { heartbeatTimeoutMs: 120_000 }

/** The next thing that is seen and is right; all before it is passed over. */
async function until(
  watching: AsyncIterator<Watched>,
  isRight: (seen: Watched) => boolean,
): Promise<Watched> {
  for (;;) {
    const { value, done } = await watching.next()
    assert.ok(!done, 'the watching has ended')
    if (isRight(value)) return value
  }
}

const watch = (id: string, seq: number) =>
  elsewhere
    .get(id)
    .watch({ after: seq, signal: AbortSignal.timeout(150_000) })
    [Symbol.asyncIterator]()

const isDelta = (seen: Watched) => seen.kind === 'delta'

describe('a session seen from another process', { concurrency: true }, () => {
  test(
    'leaving and coming back after each event loses nothing and shows nothing twice: calls, results, a compaction with its calls, the end',
    LIMIT,
    async () => {
      const { session, seed } = await faults.open({
        window: 64_000,
        reply: ({ index }) => (index === 0 ? { content: [call('c0')] } : 'Done.'),
      })
      await seed(rounds(4, 600))
      const turn = await session.prompt('Work.')
      const compacting = turn
        .result({ timeoutMs: 120_000 })
        .then(() => session.compactNow({ whenBusy: 'wait' }))
      const seen: SessionEvent[] = []
      const isWhole = () => seen.at(-1)?.type === 'compact/end'
      while (!isWhole()) {
        const watching = watch(session.id, seen.at(-1)?.seq ?? -1)
        const next = await until(watching, ({ kind }) => kind === 'event')
        if (next.kind === 'event') seen.push(next.event)
        await watching.return?.(undefined)
      }
      assert.notEqual(await compacting, null)
      const log = await faults.log(session)
      assert.deepEqual(seen, log.slice(0, seen.length))
      const types = new Set(seen.map(({ type }) => type))
      for (const type of [
        'tool/result',
        'compact/start',
        'compact/call',
        'compact/summary',
        'turn/end',
      ] as const)
        assert.ok(types.has(type), type)
      const result = await elsewhere.get(session.id).turn(turn.requestId).result()
      assert.deepEqual([result.reason, result.message], ['completed', [text('Done.')]])
    },
  )

  test(
    'who comes in the middle of an answer gets its text from the beginning, then what follows',
    LIMIT,
    async () => {
      const [begun, more] = [new Gate(), new Gate()]
      const { session } = await faults.open(
        {
          window: 64_000,
          reply: async (_request, { onDelta }) => {
            onDelta?.({ text: 'One. ' })
            await begun.wait()
            onDelta?.({ text: 'Two. ' })
            await more.wait()
            return 'One. Two. Three.'
          },
        },
        ONCE,
      )
      const turn = await session.prompt('Count.')
      const first = watch(session.id, turn.seq)
      assert.equal(textOf(await until(first, isDelta)), 'One. ')
      await first.return?.(undefined)
      begun.open()
      await more.reached
      const early = watch(session.id, turn.seq)
      let said = ''
      while (said !== 'One. Two. ') said += textOf(await until(early, isDelta))
      const { head } = (await store.session(session.id)) ?? { head: 0 }
      const late = watch(session.id, head - 1)
      assert.equal(textOf(await until(late, isDelta)), 'One. Two. ')
      more.open()
      for (const watching of [early, late])
        assert.deepEqual(await untilLanded(watching), {
          added: 'Three.',
          began: false,
          message: [text('One. Two. Three.')],
        })
      assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
    },
  )

  test(
    'the deltas of a reply are all of its text: a quick one, one with a call, one without text, and each once more for who comes when all is over',
    LIMIT,
    async () => {
      const { session } = await faults.open({
        window: 64_000,
        reply: ({ index }) =>
          [
            { content: [text('Let me '), text('look.'), call('c0')] },
            { content: [call('c1')] },
            'The stock is fine.',
          ][index] ?? 'No more.',
      })
      const turn = await session.prompt('Look.')
      const during = await saidUntilEnd(watch(session.id, turn.seq))
      assert.deepEqual(during, ['Let me look.', '', 'The stock is fine.'])
      assert.deepEqual(await saidUntilEnd(watch(session.id, -1)), during)
    },
  )

  test('an attempt that takes the place of one that broke off begins its text anew', LIMIT, async () => {
    const [seen, gate] = [new Gate(), new Gate()]
    let calls = 0
    const { session } = await faults.open(
      {
        window: 64_000,
        reply: async (_request, { onDelta }) => {
          if (++calls > 1) {
            await gate.wait()
            return 'Something else.'
          }
          onDelta?.({ text: 'The first words' })
          await seen.wait()
          throw new SessionError('ModelFailed', 'The connection broke.', { retryable: true })
        },
      },
      ONCE,
    )
    const turn = await session.prompt('Tell.')
    const watching = watch(session.id, turn.seq)
    assert.equal(textOf(await until(watching, isDelta)), 'The first words')
    seen.open()
    await gate.reached
    gate.open()
    assert.deepEqual(await untilLanded(watching), {
      added: 'Something else.',
      began: true,
      message: [text('Something else.')],
    })
  })

  test('of a turn that was stopped, the deltas are what its interrupted message keeps', LIMIT, async () => {
    const { session } = await faults.open(
      {
        window: 64_000,
        reply: (_request, { onDelta, signal }) => {
          onDelta?.({ text: 'A long story. ' })
          return new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason)),
          )
        },
      },
      ONCE,
    )
    const turn = await session.prompt('Tell.')
    const watching = watch(session.id, turn.seq)
    assert.equal(textOf(await until(watching, isDelta)), 'A long story. ')
    await session.cancelTurn()
    assert.deepEqual(await untilLanded(watching), {
      added: '',
      began: false,
      message: [text('A long story. ')],
    })
    assert.deepEqual(await saidUntilEnd(watch(session.id, turn.seq)), ['A long story. '])
  })
})

/** What is added to what was shown until the next message comes. */
async function untilLanded(watching: AsyncIterator<Watched>) {
  let [added, began] = ['', false]
  for (;;) {
    const next = await until(watching, () => true)
    if (next.kind === 'delta') [added, began] = [added + next.text, began || next.anew === true]
    else if (next.event.type === 'assistant/message') {
      await watching.return?.(undefined)
      return { added, began, message: next.event.data.content }
    }
  }
}

/** The text of each reply of a turn, as its deltas say it. */
async function saidUntilEnd(watching: AsyncIterator<Watched>): Promise<string[]> {
  const replies: string[] = []
  let said = ''
  for (;;) {
    const next = await until(watching, () => true)
    if (next.kind === 'delta') said = next.anew ? next.text : said + next.text
    else if (next.event.type === 'assistant/message') {
      replies.push(said)
      said = ''
    } else if (next.event.type === 'turn/end') {
      await watching.return?.(undefined)
      return replies
    }
  }
}

const textOf = (seen: Watched): string => (seen.kind === 'delta' ? seen.text : '')
