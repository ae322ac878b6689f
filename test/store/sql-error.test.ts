import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { sampleHeader } from '../../src/store/contract/sample-events.ts'
import { isBusy, storeError } from '../../src/store/sql-error.ts'
import { sqliteStore } from '../../src/store/sqlite.ts'

// What the driver reports of a file that cannot be used, as the one error that callers know.

const failure = (code: string, message = 'why') => Object.assign(new Error(message), { code })

describe('codes that the driver has no name for', () => {
  const unnamed: readonly [number, RegExp, boolean][] = [
    [773, /is held by another process/, true], // BUSY_TIMEOUT
    [1544, /is read-only .*make the file and its folder writable/, false], // READONLY_DIRECTORY
    [1288, /is read-only/, false], // READONLY_CANTINIT
    [1550, /cannot be opened/, false], // CANTOPEN_SYMLINK
    [8714, /cannot be read or written/, false], // IOERR_DATA
  ]
  for (const [number, why, busy] of unnamed) {
    test(String(number), () => {
      const error = failure(`UNKNOWN_SQLITE_ERROR_${number}`)
      const seen = storeError(error, 'x.db') as Error
      assert.equal(seen.name, 'StoreUnavailable')
      assert.match(seen.message, why)
      assert.equal(isBusy(error), busy)
    })
  }

  test('one that is none of the file stays as it is', () => {
    const error = failure('UNKNOWN_SQLITE_ERROR_3091')
    assert.equal(storeError(error, 'x.db'), error)
  })
})

describe('a store that this user may only read', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dc-read-only-'))
    path = join(folder, 'sessions.db')
    const store = sqliteStore({ path })
    await store.sessions()
    await store.close()
  })
  afterEach(() => {
    chmodSync(folder, 0o755)
    rmSync(folder, { recursive: true, force: true })
  })

  for (const what of ['file', 'folder'] as const) {
    test(`its ${what} is read-only`, async () => {
      chmodSync(path, what === 'file' ? 0o444 : 0o666)
      chmodSync(folder, what === 'file' ? 0o777 : 0o555)
      await asNobody(async () => {
        const store = sqliteStore({ path })
        const actor = { workflowId: 's', runId: 'r' }
        const session = { sessionId: 's', actor, lifeRunId: 'r', header: sampleHeader() }
        await assert.rejects(store.createSession(session), {
          name: 'StoreUnavailable',
          message: /(is read-only|cannot be opened) .*(folder|writable)/,
        })
        await store.close()
      })
    })
  }
})

/** Permissions do not bind root. */
async function asNobody(work: () => Promise<void>): Promise<void> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    await work()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}
