import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StoreUnderTest } from '../../src/store/contract.ts'
import { storeContract } from '../../src/store/contract.ts'
import { type SqliteStoreOptions, sqliteStore } from '../../src/store/index.ts'

async function openSqlite(options: Omit<SqliteStoreOptions, 'path'> = {}): Promise<StoreUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), 'session-store-'))
  const handle = () => sqliteStore({ path: join(folder, 'sessions.db'), ...options })
  const handles = [handle()]
  return {
    store: handles[0] ?? handle(),
    second: async () => {
      const other = handle()
      handles.push(other)
      return other
    },
    dispose: async () => {
      await Promise.all(handles.map((store) => store.close()))
      await rm(folder, { recursive: true })
    },
  }
}

storeContract('sqlite', () => openSqlite())

/** Turns bodies into bytes that hold nothing readable, as encryption does. */
const mask = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0x5a)
const codec = {
  encode: async (json: string) => mask(new TextEncoder().encode(json)),
  decode: async (stored: Uint8Array | string) => new TextDecoder().decode(mask(stored as Uint8Array)),
}

storeContract('sqlite, bodies through an asynchronous codec', () => openSqlite({ codec }))
