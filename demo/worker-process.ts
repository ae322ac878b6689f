import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import type { Stage } from './cast.ts'

/** Bundles the workflows into a file: the demo starts two workers, and each would do it anew. */
export async function writeWorkflowBundle(path: string): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../src/workflows/index.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  })
  writeFileSync(path, code)
}

/** A worker in a process of its own; resolves when it polls. Its errors go to this process's error output. */
export async function startWorker(stage: Stage): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, DEMO_STAGE: JSON.stringify(stage) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The demo's worker ended with code ${code} before it was ready.`)
  })
  await Promise.race([once(child, 'message'), ended])
  ended.catch(() => undefined)
  return child
}

/** Ends it as a crash would, and waits until it is gone. */
export async function killWorker(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
