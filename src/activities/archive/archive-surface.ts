import { archivePathOf, archiveText } from '../../shared/compaction/archive.ts'
import type { AttemptRow, SessionRow, SurfaceSnapshot } from '../../shared/ports/store.ts'
import type { SurfaceNode } from '../../shared/session/events.ts'
import { surfaceAt } from '../../shared/session/surface-at.ts'
import type { ActivityDeps } from '../deps.ts'
import { writeWhole } from './write-whole.ts'

/** The archive of an attempt by its session's policy, as its checkpoint names it; undefined when the policy keeps none. */
export const archivePath = ({ header }: SessionRow, row: AttemptRow): string | undefined =>
  header.policy.archive === null ? undefined : archivePathOf(header.policy.archive, row)

/**
 * Writes the surface as it was at `compact/start`, before anything is paid. A repeated call writes the same bytes under the same name.
 *
 * @returns why it could not be written, or undefined
 */
export async function archiveSurface(
  deps: ActivityDeps,
  session: SessionRow,
  row: AttemptRow,
  surface: SurfaceSnapshot,
): Promise<string | undefined> {
  const path = archivePath(session, row)
  if (path === undefined) return undefined
  const text = archiveText(await nodesAtStart(deps, row, surface))
  try {
    await writeWhole(path, text)
    return undefined
  } catch (error) {
    return `The archive ${path} could not be written: ${(error as Error).message}. Nothing was paid, and the conversation is as it was.`
  }
}

/** What has been appended since does not belong to it; after a replacement only the log still knows. */
async function nodesAtStart(
  { store }: ActivityDeps,
  { sessionId, startSeq, plan }: AttemptRow,
  { nodes, generation }: SurfaceSnapshot,
): Promise<readonly SurfaceNode[]> {
  const seq = startSeq ?? 0
  if (generation === plan?.generation) return nodes.filter((node) => node.seq < seq)
  return surfaceAt(store, sessionId, seq)
}
