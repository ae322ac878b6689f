import { type FindCliOptions, findTemporalCli } from './find-cli.ts'
import {
  type DevServerOptions,
  startDevServer,
  type TemporalServer,
  TemporalServerUnavailable,
  untilReady,
} from './start-dev-server.ts'

export type ObtainServerOptions = FindCliOptions & Omit<DevServerOptions, 'cliPath'>

/**
 * A Temporal server for the demo, the tests and `durable-compaction dev`: the one that `TEMPORAL_ADDRESS` names (with
 * `TEMPORAL_NAMESPACE`), else a development server of our own, with the CLI that {@link findTemporalCli} finds.
 *
 * @throws {@link TemporalServerUnavailable}; a server that was asked for by name is never
 * silently replaced by another.
 */
export async function obtainServer(options: ObtainServerOptions = {}): Promise<TemporalServer> {
  const env = options.env ?? process.env
  const address = env['TEMPORAL_ADDRESS']
  if (address) return await existingServer(address, env['TEMPORAL_NAMESPACE'] || 'default')
  const cli = await findTemporalCli(options)
  const server = await startDevServer({ ...options, cliPath: cli.path })
  return { ...server, origin: `Temporal CLI ${cli.version} (${cli.from}: ${cli.path})` }
}

async function existingServer(address: string, namespace: string): Promise<TemporalServer> {
  const problem = await untilReady(address, namespace, 5_000)
  if (problem !== undefined) {
    throw new TemporalServerUnavailable(
      `TEMPORAL_ADDRESS is ${address}, but namespace ${namespace} does not answer there (${problem}). ` +
        'Start that server, or unset TEMPORAL_ADDRESS to use one of our own.',
    )
  }
  const nothing = async () => {}
  return {
    address,
    namespace,
    uiUrl: null,
    origin: `TEMPORAL_ADDRESS ${address}`,
    stop: nothing,
    kill: nothing,
  }
}
