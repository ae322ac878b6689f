import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import Database from 'libsql'
import type { SessionError } from '../../src/shared/errors.ts'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import { Connection } from '../../src/store/connection.ts'
import { AS_OWNER, allEvents, appendTo, assertFolded, failure } from '../../src/store/contract/harness.ts'
import { sampleHeader, userMessage } from '../../src/store/contract/sample-events.ts'
import { type SqliteStoreOptions, sqliteStore } from '../../src/store/index.ts'

let folder: string
let path: string
const stores: SessionStore[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'session-file-'))
  await chmod(folder, 0o755)
  path = join(folder, 'sessions.db')
})
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()))
  await rm(folder, { recursive: true })
})

function open(options: Partial<SqliteStoreOptions> = {}): SessionStore {
  const store = sqliteStore({ path, ...options })
  stores.push(store)
  return store
}

const create = (store: SessionStore) =>
  store.createSession({ ...AS_OWNER, lifeRunId: 'run-1', header: sampleHeader() })
const append = (store: SessionStore, id: string, words = 'words') =>
  appendTo(store, null, [userMessage(id, words)])

async function unavailable(run: () => Promise<unknown>, message: RegExp): Promise<SessionError> {
  const error = await failure(run, 'StoreUnavailable')
  assert.match(error.message, message)
  assert.equal(error.details['path'], path)
  return error
}

describe('the file', () => {
  it('keeps everything when it is closed and opened again', async () => {
    const first = open()
    await create(first)
    await append(first, 'a')
    await first.close()
    const again = open()
    assert.equal((await append(again, 'b')).head, 4)
    await assertFolded(again)
  })
  it('is complete by itself once it is closed', async () => {
    const store = open()
    await create(store)
    await append(store, 'a')
    await store.close()
    const copied = join(folder, 'copy.db')
    await writeFile(copied, await readFile(path))
    assert.equal((await allEvents(open({ path: copied }))).length, 3)
  })
  it('is in WAL mode and synced with every commit', async () => {
    const connection = new Connection(path)
    const settings = await connection.read((sql) => [
      sql.one('PRAGMA journal_mode'),
      sql.one('PRAGMA synchronous'),
    ])
    assert.match(JSON.stringify(settings), /"journal_mode":"wal".*"synchronous":2/)
    connection.close()
  })
  it('refuses calls after it was closed', async () => {
    const store = open()
    await create(store)
    await store.close()
    await unavailable(() => append(store, 'a'), /was closed.*open the store again/)
  })
})

describe('a file that cannot be used', () => {
  it('of a newer version is refused', async () => {
    const store = open()
    await create(store)
    await store.close()
    const database = new Database(path)
    database.exec('PRAGMA user_version = 99')
    database.close()
    await unavailable(
      () => open().sessions(),
      /version 99, this release reads up to 3: update durable-compaction/,
    )
  })
  it('of another program is refused and left alone', async () => {
    const database = new Database(path)
    database.exec('CREATE TABLE theirs (a)')
    database.close()
    await unavailable(() => create(open()), /another program's database.*file of its own/)
    const left = new Database(path)
      .prepare('SELECT group_concat(name) AS names FROM sqlite_master')
      .get() as { names: string }
    assert.equal(left.names, 'theirs')
  })
  it('that is no database is refused and left alone', async () => {
    await writeFile(path, 'a text, not a database. '.repeat(400))
    await unavailable(() => create(open()), /damaged or no session store.*backup/)
    assert.match(await readFile(path, 'utf8'), /^a text/)
  })
  it('that is damaged inside is refused where the damage is', async () => {
    const store = open()
    await create(store)
    for (let i = 0; i < 20; i++) await append(store, `m${i}`, 'x'.repeat(20_000))
    await store.close()
    const bytes = await readFile(path)
    await writeFile(path, bytes.fill(0xab, 4096 * 20, bytes.length))
    await unavailable(() => allEvents(open()), /damaged.*backup/)
  })
  it('in a folder that does not exist is refused, and works once it does', async () => {
    path = join(folder, 'none', 'sessions.db')
    const store = open()
    await unavailable(() => create(store), /cannot be opened.*create its folder/)
    await mkdir(join(folder, 'none'))
    assert.equal((await create(store)).head, 2)
  })
  it('that is read-only can be read, and every write is refused', async () => {
    const store = open()
    await create(store)
    await append(store, 'a')
    await store.close()
    await chmod(path, 0o444)
    // SQLite puts its log beside the file, also to read it, unless one is there: that hangs on the garbage collector here.
    await chmod(folder, 0o777)
    await asNobody(async () => {
      const readOnly = open()
      assert.equal((await allEvents(readOnly)).length, 3)
      await unavailable(() => append(readOnly, 'b'), /read-only.*writable for this user/)
      assert.equal((await allEvents(readOnly)).length, 3)
      await readOnly.close()
    })
  })
})

/** Permissions do not bind root. */
async function asNobody(run: () => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) return run()
  process.seteuid?.(65_534)
  try {
    await run()
  } finally {
    process.seteuid?.(0)
  }
}

describe('a full disk', () => {
  it('refuses the write, keeps what was acknowledged, and takes the same write once there is room', async () => {
    const store = open({ limits: { fileBytes: 300_000 } })
    await create(store)
    const acknowledged: string[] = []
    const write = (n: number) =>
      appendTo(store, null, [userMessage(`a${n}`, 'x'.repeat(5000)), userMessage(`b${n}`, 'y'.repeat(5000))])
    const fill = async () => {
      for (let n = 0; ; n++) {
        await write(n)
        acknowledged.push(`a${n}`, `b${n}`)
      }
    }
    await unavailable(fill, /no room left.*free disk space/)
    assert.ok(acknowledged.length > 20)
    assert.equal((await allEvents(store)).length, 2 + acknowledged.length, 'no half of the batch')
    await assertFolded(store)
    await unavailable(() => write(acknowledged.length / 2), /no room left/)
    await store.close()
    const roomy = open()
    const next = acknowledged.length / 2
    const batch = [userMessage(`a${next}`, 'x'.repeat(5000)), userMessage(`b${next}`, 'y'.repeat(5000))]
    assert.equal((await appendTo(roomy, null, batch)).recorded, false)
    await assertFolded(roomy)
  })
})

describe('a lock of another process', () => {
  it('is waited for with the thread free, then the write goes on', async () => {
    const store = open()
    await create(store)
    const rival = new Database(path)
    rival.exec('BEGIN IMMEDIATE')
    let beats = 0
    const heart = setInterval(() => beats++, 20)
    const written = append(store, 'a')
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    rival.exec('COMMIT')
    assert.equal((await written).head, 3)
    clearInterval(heart)
    rival.close()
    assert.ok(beats >= 4, `${beats} beats in 1.5 s: the wait held the thread`)
  })
  it('does not stop readers', async () => {
    const store = open()
    await create(store)
    const rival = new Database(path)
    rival.exec('BEGIN IMMEDIATE')
    assert.equal((await allEvents(store)).length, 2)
    rival.exec('ROLLBACK')
    rival.close()
  })
  it('that lasts is a failure with a remedy', async () => {
    const connection = new Connection(path, { giveUpMs: 150 })
    await connection.read(() => undefined)
    const rival = new Database(path)
    rival.exec('BEGIN IMMEDIATE')
    await unavailable(() => connection.write(() => undefined), /held by another process/)
    rival.exec('ROLLBACK')
    rival.close()
    connection.close()
  })
})

describe('a transaction that fails', () => {
  it('is rolled back, and the connection serves the next', async () => {
    const connection = new Connection(path)
    const insert = "INSERT INTO reading (session, meter) VALUES (1, '{}')"
    await assert.rejects(
      connection.write((sql) => {
        sql.run(insert)
        throw new Error('mine')
      }),
      /mine/,
    )
    assert.equal(await connection.read((sql) => sql.all('SELECT * FROM reading').length), 0)
    await connection.write((sql) => sql.run(insert))
    assert.equal(await connection.read((sql) => sql.all('SELECT * FROM reading').length), 1)
    connection.close()
  })
  it('values that the driver cannot take are refused before it sees them', async () => {
    const connection = new Connection(path)
    const insert = 'INSERT INTO reading (session, meter) VALUES (1, ?)'
    for (const value of ['a\0b', Number.NaN, true, {}, undefined] as string[]) {
      await failure(() => connection.read((sql) => sql.one('SELECT ? AS v', value)), 'InvalidInput')
      await failure(() => connection.read((sql) => sql.all('SELECT ? AS v', value)), 'InvalidInput')
      await failure(() => connection.write((sql) => sql.run(insert, value)), 'InvalidInput')
    }
    connection.close()
  })
})
