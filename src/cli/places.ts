import { join } from 'node:path'
import { DEFAULT_TASK_QUEUE } from '../shared/protocol.ts'
import { homeFolder, readDevState } from './home.ts'

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
  /** False: nobody named a server, and the address is the usual one. */
  readonly addressIsNamed: boolean
  readonly namespace: string
  readonly storePath: string
  readonly taskQueue: string
  /** Default model of the `dev` that runs there. */
  readonly devModel?: string
}

/** Where server and store are: the options, else the environment, else a running `dev` (unless another server was named), else the defaults. */
export function placesOf(options: CommonOptions, env: NodeJS.ProcessEnv = process.env): Places {
  const home = homeFolder(env)
  const running = readDevState(home)
  const named = (options.address || undefined) ?? (env['TEMPORAL_ADDRESS'] || undefined) ?? running?.address
  const dev = running?.address === named ? running : null
  return {
    address: named ?? 'localhost:7233',
    addressIsNamed: named !== undefined,
    namespace: options.namespace ?? (env['TEMPORAL_NAMESPACE'] || undefined) ?? dev?.namespace ?? 'default',
    storePath:
      options.store ??
      (env['DURABLE_COMPACTION_STORE'] || undefined) ??
      dev?.storePath ??
      join(home, 'sessions.db'),
    taskQueue: options.taskQueue ?? dev?.taskQueue ?? DEFAULT_TASK_QUEUE,
    ...(dev?.defaultModel === undefined ? {} : { devModel: dev.defaultModel }),
  }
}
