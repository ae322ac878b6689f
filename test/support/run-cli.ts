import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { CommanderError } from 'commander'
import { EXIT, exitCodeOf, failureText } from '../../src/cli/exit-codes.ts'
import { createProgram } from '../../src/cli/program.ts'

const TSX = import.meta.resolve('tsx')
/** Workers of the command line are as late as those of the tests: see `late-reports.ts`. Threads inherit the option, and have no loader for TypeScript. */
const LATE_URL = `data:text/javascript,${encodeURIComponent(
  `import { isMainThread } from 'node:worker_threads'
  if (isMainThread) await import('${import.meta.resolve('./late-reports.ts')}')`,
)}`
const LATE = process.env['LATE_REPORTS'] === undefined ? [] : ['--import', LATE_URL]
const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

export interface CliRun {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

type Env = Readonly<Record<string, string | undefined>>

/** What would ask for colours, or forbid them, whatever the output is. */
const WITHOUT_A_TERMINAL = { NO_COLOR: undefined, FORCE_COLOR: undefined, CI: undefined }

const SAYS_MS = 60_000

export interface StartedCli {
  readonly done: Promise<CliRun>
  /** Waits until the output of either kind holds this; a minute at most. */
  says(pattern: RegExp): Promise<void>
  /** All that it has written so far. */
  said(): string
  /** A line of its input, which is open: see {@link startCli}. */
  type(line: string): void
  endInput(): void
  /** As `| head` does when it has seen enough. */
  closeOutput(): void
  /** Ctrl-C. */
  interrupt(): void
  kill(): void
}

/** Starts the command line as a user does, in a process of its own. Its whole input, or null: it stays open. `cwd`: the working folder, default this one's. */
export function startCli(
  args: readonly string[],
  env: Env = {},
  input: string | null = '',
  cwd: string = process.cwd(),
): StartedCli {
  const child = spawn(process.execPath, ['--import', TSX, ...LATE, MAIN, ...args], {
    cwd,
    env: { ...process.env, ...WITHOUT_A_TERMINAL, ...env },
    stdio: 'pipe',
  })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (part: string) => {
      said[name] += part
    })
  child.stdin.on('error', () => undefined)
  if (input !== null) child.stdin.end(input)
  const done = new Promise<CliRun>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...said }))
  })
  return {
    done,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const late = () => reject(new Error(`has not said ${pattern}: ${said.stdout}${said.stderr}`))
        setTimeout(late, SAYS_MS).unref()
        const look = () => {
          if (pattern.test(said.stdout) || pattern.test(said.stderr)) resolve()
        }
        for (const stream of [child.stdout, child.stderr]) stream.on('data', look)
        look()
        const ended = ({ code }: CliRun) =>
          reject(new Error(`ended with ${code} before it said ${pattern}: ${said.stderr}`))
        done.then(ended, reject)
      }),
    said: () => said.stdout + said.stderr,
    type: (line) => void child.stdin.write(`${line}\n`),
    endInput: () => void child.stdin.end(),
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
  const plain = (text: unknown) => stripVTControlCharacters(String(text))
  console.log = (line) => {
    stdout += `${plain(line)}\n`
  }
  console.error = (line) => {
    stderr += `${plain(line)}\n`
  }
  process.stderr.write = (part) => {
    stderr += plain(part)
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
    return { code: exitCodeOf(error), stdout, stderr: `${stderr}${plain(failureText(error, { json }))}\n` }
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
