import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { CommanderError } from 'commander'
import { EXIT, exitCodeOf, failureText } from '../../src/cli/exit-codes.ts'
import { createProgram } from '../../src/cli/program.ts'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

export interface CliRun {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

type Env = Readonly<Record<string, string | undefined>>

export interface StartedCli {
  readonly done: Promise<CliRun>
  /** Waits until the output of either kind holds this. */
  says(pattern: RegExp): Promise<void>
  /** As `| head` does when it has seen enough. */
  closeOutput(): void
  /** Ctrl-C. */
  interrupt(): void
  kill(): void
}

/** Starts the command line as a user does, in a process of its own. */
function startCli(args: readonly string[], env: Env = {}, input = ''): StartedCli {
  const child = spawn(process.execPath, ['--import', 'tsx', MAIN, ...args], {
    env: { ...process.env, NO_COLOR: undefined, FORCE_COLOR: undefined, ...env },
    stdio: 'pipe',
  })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (part: string) => {
      said[name] += part
    })
  child.stdin.on('error', () => undefined).end(input)
  const done = new Promise<CliRun>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...said }))
  })
  return {
    done,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (pattern.test(said.stdout) || pattern.test(said.stderr)) resolve()
        }
        for (const stream of [child.stdout, child.stderr]) stream.on('data', look)
        look()
        const ended = ({ code }: CliRun) =>
          reject(new Error(`ended with ${code} before it said ${pattern}: ${said.stderr}`))
        done.then(ended, reject)
      }),
    closeOutput: () => void child.stdout.destroy(),
    interrupt: () => void child.kill('SIGINT'),
    kill: () => void child.kill('SIGKILL'),
  }
}

/** Runs the command line as a user does, in a process of its own: one to three seconds of processor time. */
export const runCli = (args: readonly string[], env: Env = {}, input = ''): Promise<CliRun> =>
  startCli(args, env, input).done

/** Runs a command in this process, as `main.ts` does; one at a time. */
export async function runCommand(args: readonly string[]): Promise<CliRun> {
  let [stdout, stderr] = ['', '']
  const { log, error: print } = console
  const { write } = process.stderr
  console.log = (line) => {
    stdout += `${line}\n`
  }
  console.error = (line) => {
    stderr += `${line}\n`
  }
  process.stderr.write = (part) => {
    stderr += String(part)
    return true
  }
  const json = args.includes('--json')
  const { exitCode } = process
  process.exitCode = undefined
  const listeners = process.listeners('SIGINT')
  try {
    await createProgram('0.0.0', { json }).parseAsync([...args], { from: 'user' })
    return { code: Number(process.exitCode ?? EXIT.done), stdout, stderr }
  } catch (error) {
    if (error instanceof CommanderError) return { code: EXIT.badUsage, stdout, stderr }
    return { code: exitCodeOf(error), stdout, stderr: `${stderr}${failureText(error, { json })}\n` }
  } finally {
    process.exitCode = exitCode
    for (const listener of process.listeners('SIGINT'))
      if (!listeners.includes(listener))
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, listener)
    console.log = log
    console.error = print
    process.stderr.write = write
  }
}
