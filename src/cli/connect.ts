import { Client, Connection } from '@temporalio/client'
import { COMMAND } from './command-name.ts'
import { TemporalUnreachable } from './exit-codes.ts'
import type { Places } from './places.ts'

const CONNECT_MS = 5_000

/** @throws TemporalUnreachable */
export async function connectClient({
  address,
  namespace,
}: Pick<Places, 'address' | 'namespace'>): Promise<Client> {
  const connection = await reach(address, () => Connection.connect({ address, connectTimeout: CONNECT_MS }))
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
  const message = error instanceof Error ? error.message : String(error)
  return /before the deadline|ConnectionRefused|ECONNREFUSED/.test(message) ? 'nothing answers' : message
}
