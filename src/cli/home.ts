import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'

const devSchema = z.strictObject({
  address: z.string(),
  namespace: z.string(),
  storePath: z.string(),
  taskQueue: z.string(),
  uiUrl: z.string().nullable(),
  pid: z.int(),
})
/** What a running `dev` tells the other commands. */
export type DevState = z.infer<typeof devSchema>

/** Where the command line keeps its store and its notes: `DURABLE_COMPACTION_HOME`, default `~/.durable-compaction`. */
export function homeFolder(env: NodeJS.ProcessEnv = process.env): string {
  const folder = env['DURABLE_COMPACTION_HOME'] || join(homedir(), '.durable-compaction')
  mkdirSync(folder, { recursive: true })
  return folder
}

const devFile = (home: string) => join(home, 'dev.json')

export function writeDevState(home: string, state: DevState): void {
  writeFileSync(devFile(home), JSON.stringify(state, null, 2))
}

/** Null when no `dev` runs. */
export function readDevState(home: string): DevState | null {
  if (!existsSync(devFile(home))) return null
  const parsed = devSchema.safeParse(JSON.parse(readFileSync(devFile(home), 'utf8')))
  return parsed.success && isRunning(parsed.data.pid) ? parsed.data : null
}

export function removeDevState(home: string): void {
  rmSync(devFile(home), { force: true })
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
