import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { BoundaryStage } from './boundary-worker.ts'

export interface StartedWorker {
  readonly child: ChildProcess
  /** Resolves once it stands at its boundary. */
  readonly held: Promise<void>
}

/** A worker in a process of its own, once it polls. */
export async function startWorker(stage: BoundaryStage): Promise<StartedWorker> {
  const child = fork(fileURLToPath(new URL('./boundary-worker.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, BOUNDARY_STAGE: JSON.stringify(stage) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const says = (word: string) =>
    new Promise<void>((resolve, reject) => {
      child.on('message', (message) => {
        if (message === word) resolve()
      })
      child.once('exit', (code, signal) => reject(new Error(`ended with ${code ?? signal} before ${word}`)))
    })
  // Listened for from the start: what a child says while nobody listens is lost.
  const held = says('held')
  held.catch(() => undefined)
  await says('ready')
  return { child, held }
}

/** Kills the worker at its boundary. */
export async function killAtBoundary({ child, held }: StartedWorker): Promise<void> {
  await held
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
