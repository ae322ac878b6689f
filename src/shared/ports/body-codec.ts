/**
 * Bodies pass through this port on their way into and out of the store: identity until encryption comes.
 * Text from `encode` holds no U+0000 (return bytes for such). The same JSON may be encoded more than once for one event. `decode`
 * gives null for a body that was erased: its session can no longer be read.
 */
export interface BodyCodec {
  encode(json: string): Promise<Uint8Array | string> | Uint8Array | string
  decode(stored: Uint8Array | string): Promise<string | null> | string | null
}
