const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** The six bits of a base64 character by its code; -1 for every other one, padding included. */
const SEXTETS = Int8Array.from({ length: 128 }, (_, code) => ALPHABET.indexOf(String.fromCharCode(code)))

const sextetOf = (code: number): number => (code < 128 ? (SEXTETS[code] as number) : -1)

/**
 * Decodes `base64[from, to)` into `bytes` from `at`, up to the first character that is not base64.
 * `from` must be a multiple of four away from where the data begins.
 * @returns the number of bytes written
 */
export function decodeBase64(
  base64: string,
  from: number,
  to: number,
  bytes: Uint8Array,
  at: number,
): number {
  const start = at
  let bits = 0
  let held = 0
  for (let index = from; index < to; index++) {
    const sextet = sextetOf(base64.charCodeAt(index))
    if (sextet < 0) break
    held = ((held << 6) | sextet) & 0xffff
    bits += 6
    if (bits >= 8) {
      bits -= 8
      bytes[at++] = held >>> bits
    }
  }
  return at - start
}

/** Size of the decoded data in bytes. */
export function decodedLength(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.floor(((base64.length - padding) * 3) / 4)
}

/** Byte `index` of the decoded data, without decoding the rest; -1 beyond its end and where it is not base64. */
export function byteAt(base64: string, index: number): number {
  const at = Math.floor(index / 3) * 4 + (index % 3)
  const high = sextetOf(base64.charCodeAt(at))
  const low = sextetOf(base64.charCodeAt(at + 1))
  if (high < 0 || low < 0) return -1
  const shift = 2 * (index % 3)
  return ((high << (2 + shift)) | (low >>> (4 - shift))) & 0xff
}
