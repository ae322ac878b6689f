import type { BodyCodec } from '../shared/ports/body-codec.ts'
import type { Clock } from '../shared/ports/clock.ts'
import type { Connection, Sql } from './connection.ts'

/** What every operation of the SQLite store works with. */
export interface StoreContext {
  readonly connection: Connection
  /** Null: bodies are stored as they are. */
  readonly codec: BodyCodec | null
  readonly clock: Clock
  /** Requests of one kind that may wait in one inbox. */
  readonly waitingPrompts: number
}

/** A body as it is stored. */
export type StoredBody = string | Uint8Array

/** One write transaction. */
export interface Tx {
  readonly sql: Sql
  /** The time of everything that it writes. */
  readonly now: number
  encode(json: string): StoredBody
}

/** Rolls a transaction back that met a body which is not encoded yet. */
class Unencoded extends Error {}

/**
 * Runs `body` in one write transaction. Encoding may be asynchronous and a transaction may not: the bodies of `jsons` are encoded
 * before it, and those that the store itself writes in a second pass, when the first has shown them.
 */
export async function write<T>(
  context: StoreContext,
  jsons: readonly string[],
  body: (tx: Tx) => T,
): Promise<T> {
  const { codec, connection } = context
  const now = context.clock()
  if (codec === null) return connection.write((sql) => body({ sql, now, encode: (json) => json }))
  const encoded = new Map<string, StoredBody>()
  for (let missing = new Set(jsons); ; ) {
    for (const json of missing) encoded.set(json, await codec.encode(json))
    const unencoded = new Set<string>()
    const encode = (json: string): StoredBody => {
      const known = encoded.get(json)
      if (known === undefined) unencoded.add(json)
      return known ?? ''
    }
    try {
      return await connection.write((sql) => {
        unencoded.clear()
        const result = body({ sql, now, encode })
        if (unencoded.size > 0) throw new Unencoded()
        return result
      })
    } catch (error) {
      if (!(error instanceof Unencoded)) throw error
      missing = unencoded
    }
  }
}

/** The driver gives bytes of one row as `Uint8Array`, of many as `ArrayBuffer`. */
const asWritten = (body: StoredBody | ArrayBuffer): StoredBody =>
  body instanceof ArrayBuffer ? new Uint8Array(body) : body

/** The values of stored bodies, decoded after their transaction; null for one that was erased. */
export async function decoded({ codec }: StoreContext, bodies: readonly StoredBody[]): Promise<unknown[]> {
  const jsons =
    codec === null
      ? (bodies as readonly string[])
      : await Promise.all(bodies.map((body) => codec.decode(asWritten(body))))
  return jsons.map((json) => (json === null ? null : JSON.parse(json)))
}
