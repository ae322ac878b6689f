import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { SessionError } from '../shared/errors.ts'

const devSchema = z.strictObject({
  address: z.string(),
  namespace: z.string(),
  storePath: z.string(),
  taskQueue: z.string(),
  uiUrl: z.string().nullable(),
  pid: z.int(),
  /** Of sessions for which none is named: it serves what its own environment has the key of. */
  defaultModel: z.string().optional(),
})
/** What a running `dev` tells the other commands. */
export type DevState = z.infer<typeof devSchema>

/** A `dev` that is still starting has claimed its home, and says no more. */
const claimSchema = z.looseObject({ pid: z.int() })

/** Where the command line keeps its store and its notes: `DURABLE_COMPACTION_HOME`, default `~/.durable-compaction`. */
export const homeFolder = (env: NodeJS.ProcessEnv = process.env): string =>
  env['DURABLE_COMPACTION_HOME'] || join(homedir(), '.durable-compaction')

/** @throws SessionError `StoreUnavailable` */
export function createHome(home: string): void {
  try {
    mkdirSync(home, { recursive: true })
  } catch (error) {
    throw new SessionError(
      'StoreUnavailable',
      `The folder ${home} cannot be made (${reasonOf(error)}): set DURABLE_COMPACTION_HOME to one that can, or name a store with --store.`,
    )
  }
}

const devFile = (home: string) => join(home, 'dev.json')

/** Null when no `dev` runs, or when it is not ready. */
export function readDevState(home: string): DevState | null {
  const parsed = devSchema.safeParse(readNote(home))
  return parsed.success && isRunning(parsed.data.pid) ? parsed.data : null
}

export function writeDevState(home: string, state: DevState): void {
  writeFileSync(devFile(home), JSON.stringify(state, null, 2))
}

/** Makes this process the only `dev` of its home: two would write to one server's file. @throws SessionError `Busy` */
export function claimHome(home: string): void {
  createHome(home)
  const claim = JSON.stringify({ pid: process.pid })
  for (let tries = 0; ; tries++) {
    try {
      writeFileSync(devFile(home), claim, { flag: 'wx' })
      return
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST') || tries > 0) throw error
      refuseRunning(home)
      releaseHome(home)
    }
  }
}

export function releaseHome(home: string): void {
  rmSync(devFile(home), { force: true })
}

function refuseRunning(home: string): void {
  const claimed = claimSchema.safeParse(readNote(home))
  if (!claimed.success || !isRunning(claimed.data.pid)) return
  const state = readDevState(home)
  throw new SessionError(
    'Busy',
    `A dev runs already (process ${claimed.data.pid}${state === null ? ', still starting' : `, Temporal at ${state.address}`}): ` +
      `use it, end it, or set DURABLE_COMPACTION_HOME to another folder for a second one. If that process is none, delete ${devFile(home)}.`,
  )
}

/** Undefined when there is none, or none that can be read. */
function readNote(home: string): unknown {
  try {
    return JSON.parse(readFileSync(devFile(home), 'utf8'))
  } catch {
    return undefined
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
