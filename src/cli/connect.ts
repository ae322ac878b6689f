import { once } from 'node:events'
import { connect } from 'node:net'
import { Client, Connection } from '@temporalio/client'
import { COMMAND } from './command-name.ts'
import { TemporalUnreachable } from './exit-codes.ts'
import type { Places } from './places.ts'

const CONNECT_MS = 5_000

/** @throws TemporalUnreachable; at once when nobody listens on this machine, else after {@link CONNECT_MS} */
export async function connectClient({
  address,
  namespace,
}: Pick<Places, 'address' | 'namespace'>): Promise<Client> {
  const connection = await reach(address, async () => {
    await assertListening(address)
    return Connection.connect({ address, connectTimeout: CONNECT_MS })
  })
  return new Client({ connection, namespace })
}

/** What `connect` returns, or one sentence that names the address. @throws TemporalUnreachable */
export async function reach<T>(address: string, connect: () => Promise<T>): Promise<T> {
  try {
    return await connect()
  } catch (error) {
    throw new TemporalUnreachable(
      `Cannot reach Temporal at ${address} (${reasonOf(error)}). Start a server, for example with "${COMMAND} dev", or name the one that runs with --address.`,
    )
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? `${error.code} ` : ''
  const message = `${code}${error instanceof Error ? error.message : error}`
  return /before the deadline|ConnectionRefused|ECONNREFUSED/.test(message) ? 'nothing answers' : message
}

/** The client itself tries until its time is over. Proxies stand before other machines, so only this one is asked. */
async function assertListening(address: string): Promise<void> {
  const [, host, port] = /^(localhost|127\.0\.0\.1|\[::1\]):(\d+)$/.exec(address) ?? []
  if (host === undefined || Number(port) > 65_535) return
  const socket = connect({ host: host.replace(/[[\]]/g, ''), port: Number(port), timeout: CONNECT_MS })
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}
