import { ratioOf } from '../shared/compaction/meter.ts'
import { modelKeyOf } from '../shared/compaction/pressure.ts'
import { shorterReply } from '../shared/compaction/shorter-reply.ts'
import { tooLargeSentence } from '../shared/compaction/too-large.ts'
import type { ModelRequest } from '../shared/ports/model.ts'
import type { SessionRow, SurfaceSnapshot } from '../shared/ports/store.ts'
import type { Reading } from '../shared/protocol.ts'
import type { ActivityDeps } from './deps.ts'
import { overheadOf } from './overhead.ts'
import { isBudgetSpent, loadMeter, readingOf } from './session-view.ts'
import { tooManyBytes } from './too-many-bytes.ts'

interface Sending {
  readonly session: SessionRow
  /** What the request was made of. */
  readonly surface: SurfaceSnapshot
  readonly request: ModelRequest
  readonly turn: number
}

export interface Refusal {
  readonly reading: Reading
  readonly message: string
  /** `max_tokens` with which it would fit; null when only a smaller input helps. */
  readonly shorterReply: number | null
}

/** O2: a request that is known not to fit is never sent. Tokens and bytes are two limits. Null when it fits, or when nobody knows the window. */
export async function preflight(
  deps: ActivityDeps,
  { session, surface, request, turn }: Sending,
): Promise<Refusal | null> {
  const { header } = session
  const [meter, budgetSpent] = await Promise.all([loadMeter(deps, session), isBudgetSpent(deps, session)])
  const nowMs = deps.clock()
  const reading = readingOf({ header, snapshot: surface, meter, budgetSpent, replies: request.index, nowMs })
  const { contextWindow, replyMaxTokens } = header.policy
  const hasRoom = contextWindow === null || reading.tokens + replyMaxTokens <= contextWindow
  const bytesProblem = tooManyBytes(request, deps.models[request.provider])
  if (hasRoom)
    return bytesProblem === undefined ? null : { reading, message: bytesProblem, shorterReply: null }
  const message = tooLargeSentence({
    ...overheadOf(header),
    header,
    nodes: surface.nodes,
    turn,
    requestTokens: reading.tokens,
    ratio: ratioOf(meter, modelKeyOf(header)),
  })
  return {
    reading,
    message,
    shorterReply: bytesProblem === undefined ? shorterReply(header, reading.tokens) : null,
  }
}
