import { spawn } from 'node:child_process'
import { z } from 'zod'
import { LIMITS } from '../../shared/limits.ts'
import type { Tool } from '../../shared/ports/tool.ts'
import { checkPassed, commandEnv } from './command-env.ts'
import { confinedPath } from './confined-path.ts'

const TIMEOUT_MS = 120_000
/** What a stopped command gets to end by itself. */
const GRACE_MS = 500
/** Silence after which a command that has ended is not waited for: what it left in the background holds its output open. */
const SILENCE_MS = 500

const input = z.object({ command: z.string().min(1).describe('A shell command, run in the working folder.') })

/**
 * Runs a shell command in `root`. Of the worker's environment it gets {@link commandEnv} alone. The folder is where it starts, not a sandbox. Not idempotent: it is never run twice for one call.
 *
 * @throws SessionError `InvalidInput` for a name in `alsoPassed` that no command may have
 */
export function runCommandTool(root: string, alsoPassed: readonly string[] = []): Tool {
  checkPassed(alsoPassed)
  return {
    name: 'run_command',
    description: 'Run a shell command in the working folder; answers its output and exit code.',
    input,
    timeoutMs: TIMEOUT_MS,
    async run(raw, { signal }) {
      const { command } = input.parse(raw)
      const { output, code, stoppedBy, leftRunning } = await run(
        command,
        { folder: await confinedPath(root, '.'), env: commandEnv(alsoPassed) },
        signal,
      )
      const exit = stoppedBy === null ? `[exit code ${code}]` : `[stopped by ${stoppedBy}]`
      const ending = leftRunning
        ? `[what it started in the background runs on; its output is not read]\n${exit}`
        : exit
      return {
        content: `${output}${output === '' || output.endsWith('\n') ? '' : '\n'}${ending}`,
        isError: code !== 0,
      }
    },
  }
}

interface Place {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
}

interface Finished {
  readonly output: string
  readonly code: number | null
  readonly stoppedBy: NodeJS.Signals | null
  readonly leftRunning: boolean
}

function run(command: string, { folder, env }: Place, signal: AbortSignal): Promise<Finished> {
  return new Promise((resolve, reject) => {
    // A process group of its own, so that what the command started ends with it.
    const child = spawn('sh', ['-c', command], {
      cwd: folder,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const collected = collector()
    const outputs = [child.stdout, child.stderr]
    for (const output of outputs) output.on('data', collected.add)
    const kill = (name: NodeJS.Signals) => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, name)
      } catch {
        // The group has ended already.
      }
    }
    const abort = () => {
      kill('SIGTERM')
      setTimeout(() => kill('SIGKILL'), GRACE_MS).unref()
    }
    const finish = (leftRunning: boolean) => {
      signal.removeEventListener('abort', abort)
      // Read on, so that a background process is not ended by a closed pipe.
      for (const output of outputs) output.off('data', collected.add).resume()
      resolve({ output: collected.text(), code: child.exitCode, stoppedBy: child.signalCode, leftRunning })
    }
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    child.on('error', reject)
    child.on('exit', () => whenSilent(collected, () => finish(true)))
    child.on('close', () => finish(false))
  })
}

/** What has arrived and was not read yet is no silence, however late this thread is. */
function whenSilent(collected: { readonly bytes: () => number }, then: () => void): void {
  const before = collected.bytes()
  setTimeout(
    () => setImmediate(() => (collected.bytes() === before ? then() : whenSilent(collected, then))),
    SILENCE_MS,
  )
}

/** Keeps the first bytes up to the limit and counts the rest, so that a command that never stops talking costs no memory. */
function collector() {
  const parts: Buffer[] = []
  let kept = 0
  let dropped = 0
  return {
    add(part: Buffer) {
      const room = Math.max(0, LIMITS.toolOutputBytes - kept)
      const taken = part.subarray(0, room)
      if (taken.length > 0) parts.push(taken)
      kept += taken.length
      dropped += part.length - taken.length
    },
    bytes: () => kept + dropped,
    text: () =>
      Buffer.concat(parts).toString('utf8') +
      (dropped === 0 ? '' : `\n[${dropped} more bytes were not kept]`),
  }
}
