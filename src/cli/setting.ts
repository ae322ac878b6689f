import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import type { Command } from 'commander'
import { SessionClient } from '../client/index.ts'
import { SessionError } from '../shared/errors.ts'
import type { SessionRow, SessionStore } from '../shared/ports/store.ts'
import { DEFAULT_TASK_QUEUE } from '../shared/protocol.ts'
import { sqliteStore } from '../store/index.ts'
import { serverUnavailable } from './exit-codes.ts'
import { homeFolder, readDevState } from './home.ts'
import { Output } from './output.ts'

/** The options that every command takes. */
export interface CommonOptions {
  readonly address?: string
  readonly namespace?: string
  readonly store?: string
  readonly taskQueue?: string
  readonly json?: boolean
}

export interface Places {
  readonly address: string
  readonly namespace: string
  readonly storePath: string
  readonly taskQueue: string
}

/** Where server and store are: the options, else the environment, else a running `dev`, else the defaults. */
function placesOf(options: CommonOptions, env: NodeJS.ProcessEnv = process.env): Places {
  const home = homeFolder(env)
  const dev = readDevState(home)
  return {
    address: options.address ?? env['TEMPORAL_ADDRESS'] ?? dev?.address ?? 'localhost:7233',
    namespace: options.namespace ?? env['TEMPORAL_NAMESPACE'] ?? dev?.namespace ?? 'default',
    storePath:
      options.store ?? env['DURABLE_COMPACTION_STORE'] ?? dev?.storePath ?? join(home, 'sessions.db'),
    taskQueue: options.taskQueue ?? dev?.taskQueue ?? DEFAULT_TASK_QUEUE,
  }
}

/** What a command works with. Connections are made when first needed, so that reading a store needs no server. */
export class Setting {
  readonly output: Output
  readonly places: Places
  #store: SessionStore | undefined
  #connection: Connection | undefined

  constructor(options: CommonOptions) {
    this.output = new Output(options.json === true)
    this.places = placesOf(options)
  }

  get store(): SessionStore {
    this.#store ??= sqliteStore({ path: this.places.storePath })
    return this.#store
  }

  async sessions(): Promise<SessionClient> {
    this.#connection ??= await connectTo(this.places.address)
    const client = new Client({ connection: this.#connection, namespace: this.places.namespace })
    return new SessionClient({ client, store: this.store, taskQueue: this.places.taskQueue })
  }

  /** @throws SessionError `SessionNotFound` */
  async stored(sessionId: string): Promise<SessionRow> {
    const row = await this.store.session(sessionId)
    if (row === null) {
      throw new SessionError(
        'SessionNotFound',
        `Session ${sessionId} is not in the store ${this.places.storePath}: start it, or name its store with --store.`,
      )
    }
    return row
  }

  async close(): Promise<void> {
    await this.#connection?.close()
    await this.#store?.close()
  }
}

/** @throws TemporalServerUnavailable */
async function connectTo(address: string): Promise<Connection> {
  try {
    return await Connection.connect({ address, connectTimeout: '5s' })
  } catch (error) {
    throw serverUnavailable(address, error)
  }
}

/** An action of commander: runs the work on a setting, which is closed however the work ends. `args` are the words after the command's name. */
export function action<O extends object>(
  work: (setting: Setting, args: readonly string[], options: O) => Promise<void>,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command
    const setting = new Setting(command.optsWithGlobals())
    try {
      await work(setting, command.args, command.opts())
    } finally {
      await setting.close()
    }
  }
}
