import { spawn } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** What a helper process may cost before it is ended. */
export interface Bounds {
  /** Give up when nothing has arrived in the watched folder for so long. */
  stallMs: number
  /** Give up after so long, even while bytes arrive. */
  limitMs: number
}

export interface BoundedCommand {
  command: string
  args: readonly string[]
  env: NodeJS.ProcessEnv
  /** Growth of this folder counts as progress. */
  watchedFolder: string
  bounds: Bounds
}

/**
 * Runs a helper process with its children and ends them all when a bound is passed.
 *
 * @returns undefined when it exited with 0, otherwise a short sentence that says why it did not.
 */
export async function runBounded(run: BoundedCommand): Promise<string | undefined> {
  const child = spawn(run.command, run.args, {
    env: run.env,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: process.platform !== 'win32',
    windowsHide: true,
  })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-4_000)
  })
  const ended = new Promise<string | undefined>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ENOENT' ? 'not installed' : error.message),
    )
    child.once('close', (code) =>
      resolve(code === 0 ? undefined : lastLine(complaint) || `exit code ${code}`),
    )
  })
  const stopWatching = new AbortController()
  const overdue = watch(run, stopWatching.signal)
  try {
    return await Promise.race([ended, overdue])
  } finally {
    stopWatching.abort()
    if (child.exitCode === null && child.pid !== undefined) killTree(child.pid)
  }
}

/** Resolves with a sentence once a bound is passed; never, after the signal. */
async function watch({ bounds, watchedFolder }: BoundedCommand, signal: AbortSignal): Promise<string> {
  const startedAt = performance.now()
  let progressAt = startedAt
  let size = 0
  for (;;) {
    await sleep(Math.min(500, bounds.stallMs), undefined, { ref: false })
    if (signal.aborted) return new Promise(() => {})
    const now = performance.now()
    const grownTo = await folderBytes(watchedFolder)
    if (grownTo !== size) progressAt = now
    size = grownTo
    if (now - progressAt >= bounds.stallMs) return `no answer for ${bounds.stallMs / 1000} s`
    if (now - startedAt >= bounds.limitMs) return `not finished after ${bounds.limitMs / 1000} s`
  }
}

async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])
  const files = entries.filter((entry) => entry.isFile())
  const sizes = files.map((file) =>
    stat(join(file.parentPath, file.name)).then(
      ({ size }) => size,
      () => 0,
    ),
  )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** The process group where there is one: a helper may have started a server of its own. */
function killTree(pid: number): void {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? ''
}
