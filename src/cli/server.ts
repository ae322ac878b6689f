import { type ObtainServerOptions, obtainServer } from '../worker/dev-server/obtain-server.ts'
import type { TemporalServer } from '../worker/dev-server/start-dev-server.ts'
import { connectClient } from './connect.ts'
import type { Setting } from './setting.ts'

/** The server that was named, by an option, TEMPORAL_ADDRESS or a running dev; else one of its own. @throws TemporalUnreachable, TemporalServerUnavailable */
export async function serverFor(
  { places, output }: Setting,
  own: Omit<ObtainServerOptions, 'env' | 'onProgress'> = {},
): Promise<TemporalServer> {
  const onProgress = (line: string) => output.progress(line)
  if (!places.addressIsNamed) return obtainServer({ ...own, onProgress })
  const client = await connectClient(places)
  await client.connection.close()
  const named = { TEMPORAL_ADDRESS: places.address, TEMPORAL_NAMESPACE: places.namespace }
  const server = await obtainServer({ env: { ...process.env, ...named } })
  return { ...server, origin: 'it ran already' }
}
