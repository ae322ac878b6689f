import type { Run } from '../action.ts'
import { modelsAndTools, serve } from '../serve.ts'
import { installWorkerLog } from '../worker-log.ts'

export interface WorkerOptions {
  readonly root: string
  readonly commandEnv?: readonly string[]
}

export const worker: Run<WorkerOptions> = async (setting, _args, { root, commandEnv }) => {
  const { output, places } = setting
  const { address, namespace, storePath, taskQueue } = places
  installWorkerLog('WARN')
  await serve({
    places,
    store: await setting.store(),
    root,
    commandEnv,
    output,
    onReady: () =>
      output.result(
        { address, namespace, storePath, taskQueue },
        `The worker polls task queue ${taskQueue} at ${address}.\nstore      ${storePath}\nmodels     ${modelsAndTools()}\nCtrl-C ends it.`,
      ),
  })
}
