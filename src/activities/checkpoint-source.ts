import type { CheckpointSource } from '../shared/compaction/checkpoint.ts'
import { readCheckpointSource } from '../shared/compaction/read-checkpoint-source.ts'
import type { SessionRow } from '../shared/ports/store.ts'
import type { SurfaceNode } from '../shared/session/events.ts'
import { countTokens } from '../shared/tokens/counter.ts'
import type { ActivityDeps } from './deps.ts'

/** What a checkpoint of these nodes is made from, with what this worker adds: where the archive lies, and its working directory. */
export async function checkpointSource(
  { store, workingDirectory }: ActivityDeps,
  session: SessionRow,
  nodes: readonly SurfaceNode[],
  archivePath?: string,
): Promise<CheckpointSource> {
  return {
    ...(await readCheckpointSource(store, session, nodes, countTokens)),
    ...(archivePath === undefined ? {} : { archivePath }),
    ...(workingDirectory === undefined ? {} : { workingDirectory }),
  }
}
