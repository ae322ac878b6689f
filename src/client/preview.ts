import { type CompactionPreview, previewCompaction } from '../shared/compaction/preview.ts'
import { readCheckpointSource } from '../shared/compaction/read-checkpoint-source.ts'
import { readPlanState } from '../shared/compaction/read-plan-state.ts'
import { SessionError } from '../shared/errors.ts'
import type { SessionStore } from '../shared/ports/store.ts'
import { compactionRequestSchema, problemOf, type Span } from '../shared/protocol.ts'
import { countTokens } from '../shared/tokens/counter.ts'
import { priceContent, priceOverhead } from '../shared/tokens/price.ts'

export interface PreviewOptions {
  /** As for a compaction, at most 800 characters. */
  readonly focus?: string
  /** A region by the seqs of its first and last message. */
  readonly span?: Span
}

/** Reads the store and plans, by the code that a compaction runs. @throws SessionError `InvalidInput`, `InvalidSpan`, `SessionNotFound` */
export async function previewOf(
  store: SessionStore,
  sessionId: string,
  { focus, span }: PreviewOptions,
): Promise<CompactionPreview> {
  const asked = { ...(focus === undefined ? {} : { focus }), ...(span === undefined ? {} : { span }) }
  const problem = problemOf(compactionRequestSchema, asked, 'preview')
  if (problem !== undefined) throw new SessionError('InvalidInput', problem)
  const row = await store.session(sessionId)
  if (row === null)
    throw new SessionError('SessionNotFound', `Session ${sessionId} is not in the store: start it first.`)
  return previewCompaction({
    ...asked,
    ...(await readPlanState(store, row, countTokens)),
    overheadTokens: priceOverhead(row.header),
    price: priceContent,
    nowMs: Date.now(),
    sourceOf: (nodes) => readCheckpointSource(store, row, nodes, countTokens),
  })
}
