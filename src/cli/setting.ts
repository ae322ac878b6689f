import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Client } from '@temporalio/client'
import type { SessionClient } from '../client/index.ts'
import { SessionError } from '../shared/errors.ts'
import type { SessionRow, SessionStore } from '../shared/ports/store.ts'
import { createHome, homeFolder } from './home.ts'
import { Output } from './output.ts'
import { type CommonOptions, type Places, placesOf } from './places.ts'

/** What a command works with. Store and server are loaded and opened when first needed: reading a store needs no server, help needs neither. */
export class Setting {
  readonly output: Output
  readonly places: Places
  #store: SessionStore | undefined
  #client: Client | undefined

  constructor(options: CommonOptions) {
    this.output = new Output(options.json === true)
    this.places = placesOf(options)
  }

  async store(): Promise<SessionStore> {
    const { storePath } = this.places
    if (dirname(storePath) === homeFolder()) createHome(homeFolder())
    const { sqliteStore } = await import('../store/index.ts')
    this.#store ??= sqliteStore({ path: storePath })
    return this.#store
  }

  async sessions(): Promise<SessionClient> {
    const [{ connectClient }, { SessionClient }, store] = await Promise.all([
      import('./connect.ts'),
      import('../client/index.ts'),
      this.store(),
    ])
    const client = await connectClient(this.places)
    this.#client = client
    return new SessionClient({ client, store, taskQueue: this.places.taskQueue })
  }

  /** A session of the store. Makes no store where there is none. @throws SessionError `SessionNotFound` */
  async stored(sessionId: string): Promise<{ store: SessionStore; row: SessionRow }> {
    const { storePath } = this.places
    const isUsual = dirname(storePath) === homeFolder() || existsSync(dirname(storePath))
    if (isUsual && !existsSync(storePath)) throw notFound(sessionId, `there is no store ${storePath}`)
    const store = await this.store()
    const row = await store.session(sessionId)
    if (row === null) throw notFound(sessionId, `it is not in the store ${storePath}`)
    return { store, row }
  }

  async close(): Promise<void> {
    await this.#client?.connection.close()
    await this.#store?.close()
  }
}

const notFound = (sessionId: string, why: string): SessionError =>
  new SessionError(
    'SessionNotFound',
    `Session ${JSON.stringify(sessionId)} is not known, ${why}: start it, or name its store with --store.`,
  )
