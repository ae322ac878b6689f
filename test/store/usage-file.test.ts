import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'libsql'
import { ledgerOf } from '../../src/shared/usage/ledger.ts'
import { AS_OWNER, allEvents, assertFolded, SESSION } from '../../src/store/contract/harness.ts'
import { sampleHeader } from '../../src/store/contract/sample-events.ts'
import { linesOf, payForMuch } from '../../src/store/contract/usage-tests.ts'
import { sqliteStore } from '../../src/store/index.ts'

/** Takes out of a file what version 3 added. */
function toVersion2(path: string): void {
  const database = new Database(path)
  database.exec(`ALTER TABLE attempt DROP COLUMN usage;
    UPDATE session SET control = json_remove(control, '$.usage');
    PRAGMA user_version = 2`)
  database.close()
}

test('what was paid before the store summed it is counted when the file is opened', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'usage-file-'))
  const path = join(folder, 'sessions.db')
  const first = sqliteStore({ path })
  await first.createSession({ ...AS_OWNER, lifeRunId: 'run-1', header: sampleHeader() })
  await payForMuch(first)
  const other = { ...AS_OWNER, sessionId: 'unpaid' }
  await first.createSession({ ...other, lifeRunId: 'run-1', header: sampleHeader() })
  const paid = linesOf(ledgerOf(await allEvents(first)))
  await first.close()
  toVersion2(path)
  const again = sqliteStore({ path })
  try {
    assert.deepEqual(linesOf((await again.session(SESSION))?.usage), paid)
    assert.equal(paid.length, 6)
    await assertFolded(again)
    await assertFolded(again, 'unpaid')
  } finally {
    await again.close()
    await rm(folder, { recursive: true })
  }
})
