import type { SurfaceNode } from '../session/events.ts'
import { hash53 } from '../session/keys.ts'
import { utf8Bytes } from '../session/prompt-content.ts'

// The archive of a compaction: the surface as it was, as a file.

/** With time stamp and ending below the 255 bytes that file systems allow. */
const MAX_PART_BYTES = 180

export interface ArchivedAttempt {
  readonly sessionId: string
  readonly compactionId: string
  /** Time of `compact/start`, in milliseconds since the epoch. */
  readonly startedAt: number
}

/** `<folder>/<sessionId>/transcript_<UTC of compact/start>_<compactionId>.jsonl`: the same for every attempt of the write, and inside the folder for any id. */
export function archivePathOf(
  folder: string,
  { sessionId, compactionId, startedAt }: ArchivedAttempt,
): string {
  const utc = new Date(startedAt).toISOString().replace(/[:.]/g, '-')
  return `${folder.replace(/\/+$/, '')}/${safePart(sessionId)}/transcript_${utc}_${safePart(compactionId)}.jsonl`
}

/** One surface event a line, in surface order, as `export` prints it. */
export const archiveText = (nodes: readonly SurfaceNode[]): string =>
  nodes.map((node) => `${JSON.stringify(node)}\n`).join('')

/** An id as a name in a folder: what is not plain stands as its code, so that no two ids share a name. */
function safePart(id: string): string {
  const plain = /^\.+$/.test(id) ? id.replaceAll('.', '%2E') : id.replace(/[^A-Za-z0-9._-]/gu, coded)
  if (utf8Bytes(plain) <= MAX_PART_BYTES) return plain
  return `${plain.slice(0, MAX_PART_BYTES - 24)}.${hash53(id, 1).toString(36)}${hash53(id, 2).toString(36)}`
}

const coded = (character: string): string => `%${character.codePointAt(0)?.toString(16).toUpperCase()}`
