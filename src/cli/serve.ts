import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { NativeConnection } from '@temporalio/worker'
import { SessionError } from '../shared/errors.ts'
import type { ModelClient } from '../shared/ports/model.ts'
import type { SessionStore } from '../shared/ports/store.ts'
import { createSessionWorker, fileTools, type SessionWorkerOptions, scriptedModel } from '../worker/index.ts'
import { reach } from './connect.ts'
import { UsageError } from './exit-codes.ts'
import { untilInterrupted } from './interrupt.ts'
import { liveModelNames, liveModels } from './live-models.ts'
import type { Output } from './output.ts'
import type { Places } from './places.ts'

export interface Service {
  readonly places: Places
  readonly store: SessionStore
  /** Folder that the tools may use. */
  readonly root: string
  /** Variables of this process that commands get too. */
  readonly commandEnv: readonly string[] | undefined
  readonly output: Output
  readonly worker?: NonNullable<SessionWorkerOptions['worker']>
  /** The worker polls. */
  readonly onReady: () => void
}

/** The models and the tools that our worker has, for people. */
export const modelsAndTools = (env: NodeJS.ProcessEnv = process.env): string =>
  [
    'scripted/echo (repeats you), scripted/slow (the same after a minute)',
    ...liveModelNames(env).map((names) => `           ${names}`),
    'tools      read_file, list_files, search_files, run_command, write_file',
  ].join('\n')

/** A worker until Ctrl-C. @throws TemporalUnreachable, UsageError */
export async function serve({
  places,
  store,
  root,
  commandEnv = [],
  output,
  worker: settings,
  onReady,
}: Service): Promise<void> {
  requireFolder(root)
  const tools = fileTools(resolve(root), { commandEnv })
  const interrupted = untilInterrupted()
  const { address, namespace, taskQueue } = places
  const connection = await reach(address, () => NativeConnection.connect({ address }))
  try {
    const worker = await createSessionWorker({
      connection,
      store,
      namespace,
      taskQueue,
      models: { scripted: tryOutModel(), ...(await liveModels()) },
      tools,
      workingDirectory: resolve(root),
      ...(settings === undefined ? {} : { worker: settings }),
      onReconciled: ({ compactionId, sessionId }, why) =>
        output.progress(`closed compaction ${compactionId} of ${sessionId}: ${why}`),
      onError: (error) => console.error(error instanceof Error ? error.message : error),
    })
    const running = worker.run()
    onReady()
    interrupted.addEventListener('abort', () => {
      output.progress('Ending, as soon as running activities have ended. Ctrl-C again ends at once.')
      worker.shutdown()
    })
    if (interrupted.aborted) worker.shutdown()
    await running
  } finally {
    await connection.close()
  }
}

function requireFolder(root: string): void {
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`--root must be a folder, got ${JSON.stringify(root)}.`)
}

/** How long `scripted/slow` thinks: long enough to cancel it, to watch it, or to kill its worker. */
const SLOW_MS = 60_000

/** Models without a key: `scripted/echo` repeats what it was told, `scripted/slow` does so after a while. */
function tryOutModel(): ModelClient {
  const model = scriptedModel(
    ({ messages }) => `You said: ${JSON.stringify(messages.at(-1)?.content.at(-1)?.['text'] ?? '')}`,
    {
      capacity: { contextWindow: 32_000, maxOutputTokens: 4_000 },
      delayMs: (request) => (request.model === 'slow' ? SLOW_MS : 0),
      summaries: 'The user tries out the session; the model repeats what the user says.',
    },
  )
  return {
    ...model,
    async capacity(name) {
      if (name === 'echo' || name === 'slow') return model.capacity(name)
      throw new SessionError(
        'UnknownModel',
        `This worker has the models scripted/echo and scripted/slow, got scripted/${name}.`,
      )
    },
  }
}
