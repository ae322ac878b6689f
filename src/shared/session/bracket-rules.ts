import { isCompactCheckpointSource } from '../checkpoint-source.ts'
import type { SessionEvent } from './events.ts'
import { keys } from './keys.ts'
import type { Bracket, LogControl, LogLookup } from './log-control.ts'
import { refuse } from './log-refusal.ts'

/** The rules of a compaction's bracket: one open at a time, one owner, one summary, one end. */
export function judgeBracket(
  control: LogControl,
  lookup: LogLookup,
  event: SessionEvent,
): Partial<LogControl> {
  switch (event.type) {
    case 'compact/start':
      return { bracket: startBracket(control, event) }
    case 'compact/call':
      checkCall(control, lookup, event)
      return {}
    case 'compact/summary':
      return { bracket: summarize(control, lookup, event) }
    case 'user/message':
      return isPlacedCheckpoint(event) ? { bracket: placeCheckpoint(control, event) } : {}
    case 'compact/end':
      return endBracket(control, event)
    case 'compact/restore':
      if (control.bracket !== null) refuse(event, `compaction ${control.bracket.compactionId} is open`)
      requireKey(event, keys.compactRestore(event.data.compactionId))
      return {}
    default:
      return {}
  }
}

function startBracket({ bracket, openTurn }: LogControl, event: SessionEvent<'compact/start'>): Bracket {
  const { compactionId, turn } = event.data
  if (bracket !== null) refuse(event, `compaction ${bracket.compactionId} is open`)
  if (turn !== openTurn || event.turn !== openTurn)
    refuse(event, `its owner is turn ${turn ?? 'none'}, the open turn ${openTurn ?? 'none'}`)
  requireKey(event, keys.compactStart(compactionId))
  return { compactionId, turn, startSeq: event.seq, summary: null, checkpointSeq: null }
}

/** What was paid may be recorded after the end too, never before a start. */
function checkCall({ bracket }: LogControl, lookup: LogLookup, event: SessionEvent<'compact/call'>): void {
  const { compactionId } = event.data
  if (bracket?.compactionId === compactionId) return
  if (lookup.seqOfKey(keys.compactStart(compactionId)) === undefined)
    refuse(event, `compaction ${compactionId} has no start`)
}

function summarize(control: LogControl, lookup: LogLookup, event: SessionEvent<'compact/summary'>): Bracket {
  const { compactionId, shadowedRange, shadowedSeqs, shadowedTokenCount } = event.data
  const bracket = openBracket(control, event, compactionId)
  if (bracket.summary !== null) refuse(event, `event ${bracket.summary.seq} is its summary`)
  requireKey(event, keys.compactSummary(compactionId))
  const span = lookup.span(shadowedRange.start, shadowedRange.end)
  if (span === null)
    refuse(
      event,
      `nodes ${shadowedRange.start} and ${shadowedRange.end} are not on the surface in this order`,
    )
  if (span.length !== shadowedSeqs.length || span.some((node, i) => node.seq !== shadowedSeqs[i])) {
    refuse(event, `shadowedSeqs are not the nodes from ${shadowedRange.start} to ${shadowedRange.end}`)
  }
  const tokens = span.reduce((sum, node) => sum + node.tokens, 0)
  if (tokens !== shadowedTokenCount)
    refuse(event, `its span has ${tokens} tokens, shadowedTokenCount is ${shadowedTokenCount}`)
  return { ...bracket, summary: { seq: event.seq, ...shadowedRange, generation: control.generation } }
}

const isPlacedCheckpoint = ({ surfaceOp, data }: SessionEvent<'user/message'>): boolean =>
  surfaceOp !== 'append' && isCompactCheckpointSource(data.source)

/** A message that replaces a span is the checkpoint of the open bracket: after its summary, of the summary's span, citing all it stands for. */
function placeCheckpoint(control: LogControl, event: SessionEvent<'user/message'>): Bracket {
  const { bracket, generation } = control
  if (bracket === null) refuse(event, 'no compaction is open')
  const { summary, compactionId, startSeq, checkpointSeq } = bracket
  if (summary === null) refuse(event, `compaction ${compactionId} has no summary`)
  if (checkpointSeq !== null)
    refuse(event, `event ${checkpointSeq} is the checkpoint of compaction ${compactionId}`)
  requireKey(event, keys.compactCheckpoint(compactionId))
  const op = event.surfaceOp
  if (
    typeof op !== 'object' ||
    op.op !== 'replace' ||
    op.start !== summary.start ||
    op.end !== summary.end ||
    generation !== summary.generation
  ) {
    refuse(event, `its span is not the one that event ${summary.seq} summarizes`)
  }
  const cited = new Set(event.sourceEventSeqs)
  const missing = [startSeq, summary.seq].find((seq) => !cited.has(seq))
  if (missing !== undefined) refuse(event, `it does not cite event ${missing}`)
  return { ...bracket, checkpointSeq: event.seq }
}

function endBracket(control: LogControl, event: SessionEvent<'compact/end'>): Partial<LogControl> {
  const { compactionId, turn, error } = event.data
  const bracket = openBracket(control, event, compactionId)
  requireKey(event, keys.compactEnd(compactionId))
  if (turn !== bracket.turn || event.turn !== bracket.turn)
    refuse(event, `its owner is turn ${turn ?? 'none'}, the start's ${bracket.turn ?? 'none'}`)
  if ((error === undefined) !== (bracket.checkpointSeq !== null)) {
    refuse(
      event,
      error === undefined
        ? 'it ends without a checkpoint and without an error'
        : 'it has a checkpoint and an error',
    )
  }
  return { bracket: null }
}

function openBracket({ bracket }: LogControl, event: SessionEvent, compactionId: string): Bracket {
  if (bracket?.compactionId === compactionId) return bracket
  return refuse(event, `the open compaction is ${bracket?.compactionId ?? 'none'}, not ${compactionId}`)
}

function requireKey(event: SessionEvent, key: string): void {
  if (event.key !== key) refuse(event, `its key must be ${JSON.stringify(key)}`)
}
