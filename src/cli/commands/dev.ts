import { join } from 'node:path'
import type { TemporalServer } from '../../worker/dev-server/start-dev-server.ts'
import type { Run } from '../action.ts'
import { COMMAND } from '../command-name.ts'
import { claimHome, homeFolder, releaseHome, writeDevState } from '../home.ts'
import { defaultModel } from '../live-models.ts'
import type { Places } from '../places.ts'
import { modelsAndTools, serve } from '../serve.ts'
import { serverFor } from '../server.ts'
import type { Setting } from '../setting.ts'
import { installWorkerLog } from '../worker-log.ts'

export interface DevOptions {
  readonly uiPort?: number
  readonly port?: number
  readonly root: string
  readonly commandEnv?: readonly string[]
}

/** Who tries things out does not wait for a minute. */
const SHUTDOWN = { shutdownGraceTime: '2s', shutdownForceTime: '10s' } as const

export const dev: Run<DevOptions> = async (setting, _args, options) => {
  const home = homeFolder()
  claimHome(home)
  try {
    installWorkerLog('WARN')
    const { port, uiPort } = options
    const server = await serverFor(setting, {
      ui: uiPort ?? true,
      ...(port === undefined ? {} : { port }),
      dbFilename: join(home, 'temporal.db'),
    })
    try {
      await runDev(setting, server, home, options)
    } finally {
      await server.stop()
    }
  } finally {
    releaseHome(home)
  }
}

async function runDev(
  setting: Setting,
  server: TemporalServer,
  home: string,
  { root, commandEnv }: DevOptions,
): Promise<void> {
  const { output } = setting
  const { address, namespace, uiUrl } = server
  const places: Places = { ...setting.places, address, namespace }
  const { storePath, taskQueue } = places
  await serve({
    places,
    store: await setting.store(),
    root,
    commandEnv,
    output,
    worker: SHUTDOWN,
    onReady: () => {
      const { model } = defaultModel()
      writeDevState(home, {
        address,
        namespace,
        storePath,
        taskQueue,
        uiUrl,
        pid: process.pid,
        defaultModel: model,
      })
      output.result({ address, namespace, storePath, taskQueue, uiUrl }, introduction(places, server))
    },
  })
}

const introduction = ({ storePath, taskQueue }: Places, { address, origin, uiUrl }: TemporalServer) =>
  `Temporal   ${address} (${origin})
web page   ${uiUrl ?? 'none'}
store      ${storePath}
task queue ${taskQueue}
models     ${modelsAndTools()}

In another terminal:
  ${COMMAND} start hello --model scripted/echo
  ${COMMAND} prompt hello "Is anybody there?"

Ctrl-C ends it; the store and the sessions stay.`
