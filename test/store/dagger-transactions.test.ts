import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'libsql'
import { Connection } from '../../src/store/connection.ts'
import { AS_OWNER, allEvents, assertFolded } from '../../src/store/contract/harness.ts'
import { sampleHeader, userMessage } from '../../src/store/contract/sample-events.ts'
import { sqliteStore } from '../../src/store/index.ts'

let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'transactions-'))
})
after(() => rm(folder, { recursive: true }))

describe('† one synchronous immediate transaction', () => {
  it('decides nothing before it holds the lock: with two connections it never reads what the other is about to change', async () => {
    const path = join(folder, 'immediate.db')
    const connection = new Connection(path)
    await connection.write((sql) => sql.run("INSERT INTO reading (session, meter) VALUES (1, 'old')"))
    const rival = new Database(path)
    rival.exec("BEGIN IMMEDIATE; UPDATE reading SET meter = 'new'")
    const seen: string[] = []
    const written = connection.write((sql) => {
      seen.push(sql.one<{ meter: string }>('SELECT meter FROM reading')?.meter ?? '')
      sql.run("UPDATE reading SET meter = meter || ' and newer'")
    })
    await sleep(300)
    assert.deepEqual(seen, [], 'it ran while another connection was writing')
    rival.exec('COMMIT')
    await written
    assert.deepEqual(seen, ['new'], 'it ran once, on what the other had written')
    rival.close()
    connection.close()
  })

  it('holds no await: writes that begin at the same time in one process do not fall into each other', async () => {
    const path = join(folder, 'together.db')
    // Bodies are encoded asynchronously, so that every write of the store has a wait in it, which must stand before the transaction.
    const codec = {
      encode: async (json: string) => {
        await sleep(Math.random() * 3)
        return json
      },
      decode: async (body: string | Uint8Array) => String(body),
    }
    const store = sqliteStore({ path, codec })
    const other = sqliteStore({ path, codec })
    await store.createSession({ ...AS_OWNER, lifeRunId: 'run-1', header: sampleHeader() })
    const batches = Array.from({ length: 40 }, (_, n) =>
      (n % 2 === 0 ? store : other).append({
        ...AS_OWNER,
        turn: null,
        events: [
          userMessage(`a${n}`, 'first'),
          userMessage(`b${n}`, 'second'),
          userMessage(`c${n}`, 'third'),
        ],
      }),
    )
    for (const { events } of await Promise.all(batches)) {
      const [first = -1] = events.map(({ seq }) => seq)
      assert.deepEqual(
        events.map(({ seq }) => seq),
        [first, first + 1, first + 2],
        'a batch stands together',
      )
    }
    assert.equal((await allEvents(store)).length, 2 + 120)
    await assertFolded(store)
    await Promise.all([store.close(), other.close()])
  })
})
