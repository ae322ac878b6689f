import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { keys } from '../../src/shared/session/keys.ts'
import { AS_OWNER, allEvents, assertFolded } from '../../src/store/contract/harness.ts'
import { sampleHeader } from '../../src/store/contract/sample-events.ts'
import { sqliteStore } from '../../src/store/index.ts'

const WRITER = fileURLToPath(new URL('kill-writer.ts', import.meta.url))
const ROUNDS = 2
/** Acknowledged batches after which a writer is killed, in the middle of whatever it does then. */
const BATCHES = 25

it('two writers under kill -9: no acknowledged write is lost, no batch is torn', {
  timeout: 240_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'session-kill-'))
  const path = join(folder, 'sessions.db')
  const store = sqliteStore({ path })
  await store.createSession({ ...AS_OWNER, lifeRunId: 'run-1', header: sampleHeader() })
  let acknowledged = 0
  for (let round = 0; round < ROUNDS; round++) {
    const names = [`left${round}`, `right${round}`]
    const counts = await Promise.all(names.map((name) => writeUntilKilled(path, name)))
    const written = new Set((await allEvents(store)).map((event) => event.key))
    for (const [i, name] of names.entries()) {
      const count = counts[i] ?? 0
      acknowledged += count
      for (let batch = 0; batch <= count; batch++) {
        const parts = [0, 1, 2].filter((part) => written.has(keys.prompt(`${name}-${batch}-${part}`)))
        if (batch < count) assert.equal(parts.length, 3, `${name}: batch ${batch} was acknowledged`)
        else assert.ok(parts.length === 0 || parts.length === 3, `${name}: batch ${batch} is torn`)
      }
    }
    await assertFolded(store)
  }
  assert.ok(acknowledged >= 2 * ROUNDS * BATCHES)
  await store.close()
  await rm(folder, { recursive: true })
})

/** Resolves with the number of acknowledged batches once the process is dead. */
function writeUntilKilled(path: string, name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const writer = spawn(process.execPath, ['--import', 'tsx', WRITER, path, name], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    writer.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (output.split('\n').length > BATCHES) writer.kill('SIGKILL')
    })
    writer.on('error', reject)
    // What arrived before the kill was acknowledged, the rest of the pipe included.
    writer.on('close', (_code, signal) => {
      if (signal === 'SIGKILL') resolve(output.split('\n').length - 1)
      else reject(new Error(`writer ${name} ended by itself`))
    })
  })
}
