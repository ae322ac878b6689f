import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from '../../src/client/index.ts'
import type { CompactionHooks, FailedCompaction } from '../../src/shared/ports/hooks.ts'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { eventually } from '../support/eventually.ts'
import { ofType } from '../support/of-type.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'

// A worker's own code around compactions: real activities and store on a real server, a scripted model.

const REPLIES = 4
const call = (id: string) => ({ type: 'tool_use', id, name: 'words', input: {} })
const words: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => 'word '.repeat(1_500),
}
/** Compacts before the last replies of a turn. */
const PRESSING = { thresholdTokens: 5_000, retainTokens: 1_500, micro: false, prune: false }
const TEXT_OF_RULES = 'House rule: indent with tabs.'

/** What the hooks of the test do, and the requests that the model got. */
let hooks: CompactionHooks = {}
const requests = new Map<string, ModelRequest[]>()

const model = scriptedModel(
  (request) => {
    keep(request)
    return request.index % (REPLIES + 1) < REPLIES ? { content: [call(`c${request.index}`)] } : 'Done.'
  },
  {
    capacity: { contextWindow: 64_000, maxOutputTokens: 4_000 },
    summaries: (request) => {
      keep(request)
      return 'Words were read. Next: go on.'
    },
  },
)

function keep(request: ModelRequest): void {
  requests.set(request.sessionId, [...(requests.get(request.sessionId) ?? []), request])
}

const HOOK_MS = 2_000
let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [words], {
    hooks: {
      timeoutMs: HOOK_MS,
      beforeCompaction: async (attempt) => hooks.beforeCompaction?.(attempt),
      afterCompaction: async (compaction) => hooks.afterCompaction?.(compaction),
      compactionFailed: async (compaction) => hooks.compactionFailed?.(compaction),
    },
  })
})
after(() => real.close())
beforeEach(() => {
  hooks = {}
})

async function ran(policy: object): Promise<Session> {
  const session = await real.start({ policy: { ...policy } })
  const turn = await session.prompt('Read the words.', { requestId: 'A' })
  assert.equal((await turn.result({ timeoutMs: 90_000 })).reason, 'completed')
  await whenIdle(session)
  return session
}

/** A session with something to compact, at rest. */
const filled = () => ran({ thresholdTokens: 50_000, micro: false, prune: false })

const asText = (request: ModelRequest | undefined): string => JSON.stringify(request?.messages ?? [])

describe('hooks around a compaction', () => {
  test('H8 what afterCompaction gives is appended once, and is in the very next request', async () => {
    const told: string[] = []
    hooks = {
      async afterCompaction({ compactionId, cause, turn, tokensBefore, tokensAfter, checkpointSeq }) {
        told.push(compactionId)
        assert.deepEqual([cause, turn], ['pressure', 1])
        assert.ok(tokensAfter < tokensBefore && checkpointSeq > 0)
        return { messages: [TEXT_OF_RULES, [{ type: 'text', text: 'And a second message.' }]] }
      },
    }
    const session = await ran(PRESSING)
    const events = await real.log(session)
    const checkpoints = events.filter((event) => event.key.endsWith('.checkpoint'))
    assert.ok(checkpoints.length >= 1)
    const given = ofType(events, 'user/message').filter(({ data }) => data.source === 'context')
    assert.equal(given.length, 2 * checkpoints.length)
    assert.deepEqual(
      told,
      checkpoints.map(({ key }) => key.replace(/^compact\.(.*)\.checkpoint$/, '$1')),
    )
    const all = requests.get(session.id) ?? []
    const next = all[all.findIndex(({ purpose }) => purpose === 'summary') + 1]
    assert.equal(next?.purpose, 'turn')
    assert.ok(asText(next).includes(TEXT_OF_RULES) && asText(next).includes('And a second message.'))
    const [compaction] = await session.compactions()
    assert.ok((compaction?.endSeq ?? 0) > 0)
    const reading = await session.contextReading()
    assert.equal(reading?.headSeq, events.length, 'the workflow knows of what was appended')
  })

  test('a refusal: nothing is written, the sentence is shown, and the model’s text stays', async () => {
    hooks = { beforeCompaction: async () => ({ refuse: 'a release is being made' }) }
    const session = await filled()
    const before = await real.log(session)
    assert.equal(await session.compactNow({ focus: 'the API' }), null)
    assert.deepEqual(await real.log(session), before)
    const [record] = await session.compactions()
    assert.deepEqual(
      [record?.outcome, record?.reason, record?.message],
      ['nothing', 'refused', 'a release is being made'],
    )
    const [live] = await eventually(
      () => session.compactionHistory(),
      (records) => records[0]?.outcome === 'nothing',
    )
    assert.equal(live?.message, 'a release is being made')
  })

  test('an amended focus reaches the summary, the record and the result; it is told what it decides about', async () => {
    let seen: unknown
    hooks = {
      async beforeCompaction({ focus, cause, messages, messageTokens, tokensBefore, turn }) {
        seen = { focus, cause, turn }
        assert.ok(messages > 2 && messageTokens > 1_000 && tokensBefore > messageTokens / 2)
        return { focus: `${focus}, and the file names` }
      },
    }
    const session = await filled()
    const result = await session.compactNow({ focus: 'the API' })
    assert.deepEqual(seen, { focus: 'the API', cause: 'manual', turn: null })
    assert.equal(result?.focus, 'the API, and the file names')
    const [start] = ofType(await real.log(session), 'compact/start')
    assert.equal(start?.data.focus, 'the API, and the file names')
    const summary = requests.get(session.id)?.find(({ purpose }) => purpose === 'summary')
    assert.ok(asText(summary).includes('the API, and the file names'))
    const [record] = await eventually(
      () => session.compactionHistory(),
      (records) => records[0]?.outcome === 'compacted',
    )
    assert.equal(record?.focus, 'the API, and the file names')
  })

  test('a beforeCompaction that throws: what a person asked for fails as hook, and compactionFailed is told', async () => {
    const failures: FailedCompaction[] = []
    hooks = {
      beforeCompaction: async () => {
        throw new Error('the policy server is away')
      },
      compactionFailed: async (failed) => void failures.push(failed),
    }
    const session = await filled()
    const { nodes } = await real.store.surface(session.id)
    await assert.rejects(session.compactNow(), {
      name: 'ManualCompactionError',
      code: 'hook',
      message: /beforeCompaction failed: the policy server is away/,
    })
    assert.deepEqual((await real.store.surface(session.id)).nodes, nodes)
    const [failed] = await eventually(
      () => failures,
      ({ length }) => length > 0,
    )
    assert.deepEqual([failed?.error.code, failed?.cause, failed?.sessionId], ['hook', 'manual', session.id])
  })

  test('a beforeCompaction that throws what has no words, or an answer that throws when it is read: the code hook, asked once', async () => {
    const session = await filled()
    const said = [
      () => Promise.reject(Object.create(null)),
      async () => new Proxy({ focus: '' }, { ownKeys: () => assert.fail('not to be read') }),
    ]
    for (const say of said) {
      let asked = 0
      hooks = {
        beforeCompaction: () => {
          asked++
          return say()
        },
      }
      await assert.rejects(session.compactNow(), { code: 'hook' })
      assert.equal(asked, 1)
      await whenIdle(session)
    }
  })

  test('B16 a beforeCompaction that throws or hangs does not stop an automatic compaction; the error is in log and history', async () => {
    hooks = {
      beforeCompaction: async () => void (await sleep(20 * HOOK_MS, undefined, { ref: false })) as never,
    }
    const session = await ran(PRESSING)
    const events = await real.log(session)
    assert.ok(ofType(events, 'compact/summary').length >= 1)
    const [notice] = ofType(events, 'session/notice')
    assert.equal(notice?.data.code, 'hook-failed')
    assert.match(notice?.data.message ?? '', /beforeCompaction took longer than 2000 ms/)
    const records = await session.compactionHistory()
    assert.ok(records.every(({ hookError }) => /took longer/.test(hookError ?? '')))
  })

  test('faults B05 and N03 an afterCompaction that throws, gives nonsense, more than 4,000 tokens or a huge file of one line: the commit stands, nothing is added, the error is shown', async () => {
    const session = await filled()
    const circular: Record<string, unknown> & { type: string } = { type: 'text', text: 'fits' }
    circular['self'] = circular
    const answers: readonly [NonNullable<CompactionHooks['afterCompaction']>, RegExp][] = [
      [
        async () => {
          throw new Error('no network')
        },
        /afterCompaction failed: no network/,
      ],
      [
        async () => ({ messages: ['fits', 'word '.repeat(5_000)] }),
        /messages of 5\d\d\d tokens, allowed are 4000/,
      ],
      [
        async () => ({ messages: ['binary '.repeat(700_000)] }),
        /message 1: text of 4900000 bytes, allowed are 1048576/,
      ],
      [async () => ({ messages: ['fits', ''] }), /message 2: the content is empty/],
      [async () => 'text' as never, /must return nothing or \{ messages/],
      [async () => Promise.reject(Object.create(null)), /afterCompaction failed: it threw what cannot be/],
      [async () => ({ messages: [[circular]] }), /afterCompaction failed: .*circular/],
    ]
    for (const [afterCompaction, expected] of answers) {
      hooks = { afterCompaction }
      const turn = await session.prompt('Read more words.')
      await turn.result({ timeoutMs: 120_000 })
      const result = await session.compactNow({ whenBusy: 'wait' })
      assert.ok(result !== null)
      const [record] = await eventually(
        () => session.compactionHistory({ limit: 1 }),
        (records) => records[0]?.compactionId === result.compactionId && records[0]?.hookError !== undefined,
      )
      assert.match(record?.hookError ?? '', expected)
    }
    const events = await real.log(session)
    assert.equal(ofType(events, 'compact/end').filter(({ data }) => data.error !== undefined).length, 0)
    assert.equal(ofType(events, 'session/notice').length, answers.length)
    assert.equal(ofType(events, 'user/message').filter(({ data }) => data.source === 'context').length, 0)
  })

  test('fault B05 what is put back would fill half of the limit: it is refused by its size, and the next step needs no compaction', async () => {
    hooks = { afterCompaction: async () => ({ messages: ['rule '.repeat(3_500)] }) }
    const session = await ran(PRESSING)
    const events = await real.log(session)
    const records = await session.compactions()
    assert.deepEqual([...new Set(records.map(({ outcome }) => outcome))], ['compacted'])
    const notices = ofType(events, 'session/notice')
    assert.equal(notices.length, records.length)
    for (const { data } of notices)
      assert.match(
        data.message,
        /350\d tokens, allowed are \d+ together in a context of \d+ tokens with a limit of 5000/,
      )
    const kinds = (requests.get(session.id) ?? []).map(({ purpose }) => purpose)
    assert.doesNotMatch(kinds.join(' '), /summary turn summary/)
    hooks = { afterCompaction: async () => ({ messages: ['rule '.repeat(500)] }) }
    assert.notEqual(await session.compactNow(), null)
    // What leaves room is added: a moment after the end that the caller waited for.
    await eventually(
      async () => ofType(await real.log(session), 'user/message').map(({ data }) => data.source),
      (sources) => sources.filter((source) => source === 'context').length === 1,
    )
  })
})
