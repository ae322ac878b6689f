import { planUndo } from '../../shared/compaction/plan-undo.ts'
import type { ControlRequest } from '../../shared/control-protocol.ts'
import { SessionError } from '../../shared/errors.ts'
import type { SessionRow } from '../../shared/ports/store.ts'
import type { SessionEvent } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import type { ActivityDeps } from '../deps.ts'
import { overheadTokens } from '../overhead.ts'
import { loadMeter } from '../session-view.ts'
import type { Decided } from './serve-controls.ts'

type Undo = Extract<ControlRequest, { kind: 'undo' }>

/** The messages that a compaction replaced return to their place; later ones stay behind. */
export async function undone(
  deps: ActivityDeps,
  session: SessionRow,
  { compactionId }: Undo,
): Promise<Decided> {
  const { sessionId, header, head, openCompactionId } = session
  if (openCompactionId !== null)
    throw new SessionError('Busy', `undo: compaction ${openCompactionId} is open.`)
  const { summary, checkpoint } = await eventsOf(deps, sessionId, compactionId)
  const snapshot = await deps.store.measure(sessionId)
  if (snapshot.nodes.every((node) => node.seq !== checkpoint.seq))
    throw invalid(await whyGone(deps, sessionId, compactionId, checkpoint.seq))
  const { shadowedSeqs, shadowedTokenCount } = summary.data
  const { tokensBefore, tokensAfter, limit, fits } = planUndo({
    snapshot,
    checkpoint: checkpoint.seq,
    shadowedTokenCount,
    header,
    overheadTokens: overheadTokens(header),
    meter: await loadMeter(deps, session),
    nowMs: deps.clock(),
  })
  if (!fits) {
    throw new SessionError(
      'ContextTooLarge',
      `undo: the next request would have about ${tokensAfter} tokens, it must stay below ${limit}: compact a later part first, or configure a larger window.`,
      { tokensAfter, limit },
    )
  }
  return {
    event: {
      key: keys.compactRestore(compactionId),
      type: 'compact/restore',
      turn: null,
      step: null,
      data: { compactionId, checkpoint: checkpoint.seq },
      tokens: 0,
      surfaceOp: { op: 'restore', node: checkpoint.seq },
    },
    head,
    outcome: {
      compactionId,
      checkpointSeq: checkpoint.seq,
      messages: shadowedSeqs.length,
      tokensBefore,
      tokensAfter,
    },
  }
}

async function eventsOf({ store }: ActivityDeps, sessionId: string, compactionId: string) {
  const summary = await store.eventByKey(sessionId, keys.compactSummary(compactionId))
  const checkpoint = await store.eventByKey(sessionId, keys.compactCheckpoint(compactionId))
  if (summary?.type === 'compact/summary' && checkpoint !== null) return { summary, checkpoint }
  const attempt = await store.attempt(sessionId, compactionId)
  throw invalid(
    attempt === null
      ? `undo: session ${sessionId} has no compaction ${JSON.stringify(compactionId)}; "history" lists them`
      : `undo: compaction ${compactionId} replaced nothing: it ended as ${attempt.outcome?.outcome ?? attempt.state}`,
  )
}

/** Why the checkpoint is not on the surface. */
async function whyGone(
  { store }: ActivityDeps,
  sessionId: string,
  compactionId: string,
  checkpoint: number,
): Promise<string> {
  const undo = await store.eventByKey(sessionId, keys.compactRestore(compactionId))
  if (undo !== null) return `undo: compaction ${compactionId} was undone already, by event #${undo.seq}`
  const cover = (await laterSummaries(store, sessionId, checkpoint)).findLast(({ data }) =>
    data.shadowedSeqs.includes(checkpoint),
  )
  return `undo: compaction ${cover?.data.compactionId ?? 'of a later time'} covers the checkpoint of ${compactionId}: undo that one first`
}

async function laterSummaries(store: ActivityDeps['store'], sessionId: string, after: number) {
  const found: SessionEvent<'compact/summary'>[] = []
  for (let last = after; ; ) {
    const page = await store.events(sessionId, { after: last, types: ['compact/summary'] })
    found.push(...page.filter((event) => event.type === 'compact/summary'))
    const end = page.at(-1)
    if (end === undefined) return found
    last = end.seq
  }
}

const invalid = (problem: string) => new SessionError('InvalidInput', `${problem}.`)
