import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { CommanderError } from 'commander'
import { EXIT, exitCodeOf, failureOf } from '../../src/cli/exit-codes.ts'
import { createProgram } from '../../src/cli/program.ts'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

export interface CliRun {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command line as a user does, in a process of its own: about three seconds of processor time. */
export function runCli(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<CliRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', 'tsx', MAIN, ...args], {
      env: { ...process.env, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (part: Buffer) => {
      stdout += part.toString()
    })
    child.stderr.on('data', (part: Buffer) => {
      stderr += part.toString()
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

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
  try {
    await createProgram('0.0.0', { json: args.includes('--json') }).parseAsync([...args], { from: 'user' })
    return { code: EXIT.done, stdout, stderr }
  } catch (error) {
    if (error instanceof CommanderError) return { code: EXIT.badUsage, stdout, stderr }
    const { name, message } = failureOf(error)
    return { code: exitCodeOf(error), stdout, stderr: `${stderr}${name}: ${message}\n` }
  } finally {
    console.log = log
    console.error = print
    process.stderr.write = write
  }
}
