/**
 * Bodies pass through this port on their way into and out of the store: identity until encryption comes.
 * `decode` gives null for a body that was erased.
 */
export interface BodyCodec {
  encode(json: string): Promise<Uint8Array | string> | Uint8Array | string
  decode(stored: Uint8Array | string): Promise<string | null> | string | null
}
