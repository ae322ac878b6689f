import { ratioOf } from '../shared/compaction/meter.ts'
import { modelKeyOf } from '../shared/compaction/pressure.ts'
import { tooLargeSentence } from '../shared/compaction/too-large.ts'
import type { SessionRow, SurfaceSnapshot } from '../shared/ports/store.ts'
import type { Reading } from '../shared/protocol.ts'
import type { ActivityDeps } from './deps.ts'
import { overheadOf } from './overhead.ts'
import { loadMeter, readingOf } from './session-view.ts'

/** O2: a request that is known not to fit is never sent. Null when it fits, or when nobody knows the window. */
export async function preflight(
  deps: ActivityDeps,
  session: SessionRow,
  snapshot: SurfaceSnapshot,
  replies: number,
): Promise<{ readonly reading: Reading; readonly message: string } | null> {
  const { header } = session
  const { contextWindow, replyMaxTokens } = header.policy
  if (contextWindow === null) return null
  const meter = await loadMeter(deps, session)
  const reading = readingOf({ header, snapshot, meter, replies, nowMs: deps.clock() })
  if (reading.tokens + replyMaxTokens <= contextWindow) return null
  const message = tooLargeSentence({
    ...overheadOf(header),
    header,
    nodes: snapshot.nodes,
    requestTokens: reading.tokens,
    ratio: ratioOf(meter, modelKeyOf(header)),
  })
  return { reading, message }
}
