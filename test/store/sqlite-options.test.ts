import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import { text } from '../../src/shared/session/content.ts'
import { AS_OWNER, appendTo, failure, OWNER, SESSION } from '../../src/store/contract/harness.ts'
import { ATTEMPT_ID, openPlanned, twoMessages } from '../../src/store/contract/sample-attempt.ts'
import { sampleHeader, userMessage } from '../../src/store/contract/sample-events.ts'
import { sqliteStore } from '../../src/store/index.ts'

const create = (store: SessionStore, sessionId = SESSION) =>
  store.createSession({ sessionId, actor: OWNER, lifeRunId: 'run-1', header: sampleHeader() })

describe('now', () => {
  it('is the time of events, rows and the order of sessions', async () => {
    let time = 1000
    const store = sqliteStore({ path: ':memory:', now: () => time })
    for (const id of ['one', 'two']) {
      time += 10
      await create(store, id)
    }
    time = 2000
    const { events } = await store.append({
      sessionId: 'one',
      actor: OWNER,
      turn: null,
      events: [userMessage('a', 'a')],
    })
    assert.equal(events[0]?.time, 2000)
    const rows = await store.sessions()
    assert.deepEqual(
      rows.map((row) => [row.sessionId, row.createdAt, row.updatedAt]),
      [
        ['one', 1010, 2000],
        ['two', 1020, 1020],
      ],
    )
    await store.close()
  })
})

describe('limits', () => {
  it('bound the requests of one kind that wait', async () => {
    const store = sqliteStore({ path: ':memory:', limits: { waitingPrompts: 1 } })
    await create(store)
    const put = (requestId: string) =>
      store.putInbox({ sessionId: SESSION, requestId, kind: 'prompt', body: [text('hi')] })
    await put('a')
    assert.deepEqual((await failure(() => put('b'), 'QueueFull')).details, { waiting: 1, limit: 1 })
    await store.close()
  })
})

describe('codec', () => {
  const flip = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0x5a)

  it('sees every body; the file holds no word of them', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'session-codec-'))
    const path = join(folder, 'sessions.db')
    const codec = {
      encode: (json: string) => flip(new TextEncoder().encode(json)),
      decode: (stored: Uint8Array | string) => new TextDecoder().decode(flip(stored as Uint8Array)),
    }
    const store = sqliteStore({ path, codec })
    const word = 'mellifluous'
    await store.createSession({ ...AS_OWNER, lifeRunId: 'run-1', header: sampleHeader({ system: word }) })
    await appendTo(store, null, [userMessage('x', word)])
    await store.putInbox({ sessionId: SESSION, requestId: 'p', kind: 'prompt', body: [text(word)] })
    await store.putDelta({ sessionId: SESSION, key: 't9.s9.assistant', index: 0, text: word })
    const { head, plan } = await twoMessages(store)
    await openPlanned(store, { head, plan: { ...plan, shadowedSeqs: [3, 4], chunkEnds: [4] } })
    await store.recordSummary({
      ...AS_OWNER,
      compactionId: ATTEMPT_ID,
      summary: { summary: { summary: [text(word)], provider: 'p', model: 'm' } },
    })
    assert.equal((await store.search(SESSION, word)).length, 1)
    assert.equal((await store.session(SESSION))?.header.system, word)
    await store.close()
    assert.equal((await readFile(path)).includes(word), false)
    await rm(folder, { recursive: true })
  })
  it('that has erased a body makes the session unreadable, and the rest of the store as before', async () => {
    const erased = new Set<string>()
    const codec = {
      encode: (json: string) => json,
      decode: async (stored: Uint8Array | string) => (erased.has(String(stored)) ? null : String(stored)),
    }
    const store = sqliteStore({ path: ':memory:', codec })
    await create(store)
    await create(store, 'other')
    const secret = userMessage('s', 'secret')
    await appendTo(store, null, [secret, userMessage('o', 'no secret')])
    erased.add(JSON.stringify(secret.data))
    assert.match(
      (await failure(() => store.surface(SESSION), 'SessionNotFound')).message,
      /body of event 2 .* was erased/,
    )
    assert.deepEqual(
      (await store.search(SESSION, 'secret')).map((event) => event.seq),
      [3],
    )
    assert.equal((await store.measure(SESSION)).nodes.length, 2)
    assert.equal(
      (await appendTo(store, null, [userMessage('n', 'n')])).head,
      5,
      'the log goes on without reading bodies',
    )
    assert.equal((await store.surface('other')).nodes.length, 0)
    await store.close()
  })
})
