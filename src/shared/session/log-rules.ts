import { SessionError } from '../errors.ts'
import { withEvent } from '../usage/ledger.ts'
import { judgeBracket } from './bracket-rules.ts'
import type { NewEvent, SessionEvent } from './events.ts'
import type { Judgement, LogControl, LogLookup } from './log-control.ts'
import { refuse } from './log-refusal.ts'
import { judgeSurface } from './surface-rules.ts'

/**
 * Judges the next event of a log. Pure; the fold and every store call it, each with its own lookups, so that they cannot
 * disagree. Cost: O(1), for a replacement O(span), besides the lookups.
 *
 * @throws SessionError `LogRejected`; nothing has changed then
 */
export function judge(control: LogControl, lookup: LogLookup, event: SessionEvent): Judgement {
  checkPlace(control, lookup, event)
  checkTurn(control, event)
  const change = judgeSurface(control, lookup, event)
  const patch = {
    ...judgeLife(control, event),
    ...judgeTurn(control, event),
    ...judgeBracket(control, lookup, event),
  }
  const raised = change.op === 'replace' || change.op === 'restore' ? 1 : 0
  return {
    control: {
      ...control,
      ...patch,
      nextSeq: control.nextSeq + 1,
      generation: control.generation + raised,
      pricedNode: event.type === 'compact/prune' ? event.data.shadowedRange.start : null,
      usage: withEvent(control.usage, event),
    },
    change,
  }
}

/** @throws SessionError `TurnClosed` when the batch names a turn that is not the open one */
export function checkBatchTurn(control: LogControl, turn: number | null, events: readonly NewEvent[]): void {
  if (turn !== null && turn !== control.openTurn) throw turnClosed(control, turn)
  const stray = events.find((event) => event.turn !== null && event.turn !== turn)
  if (stray !== undefined) refuse(stray, `its turn is ${stray.turn}, the turn of its batch ${turn}`)
}

/** A batch may not end between a price event and its copy: a crash would leave the log between them for ever. */
export function checkBatchEnd(control: LogControl): void {
  if (control.pricedNode === null) return
  throw new SessionError(
    'LogRejected',
    `The batch ends with the shadow price of node ${control.pricedNode}: the copy must follow in the same batch.`,
  )
}

export function turnClosed(control: LogControl, turn: number): SessionError {
  const open = control.openTurn === null ? 'no turn is open' : `turn ${control.openTurn} is open`
  return new SessionError(
    'TurnClosed',
    `Turn ${turn} is not open (${open}): start a turn first, or append with turn null.`,
    {
      turn,
      openTurn: control.openTurn,
    },
  )
}

function checkPlace(control: LogControl, lookup: LogLookup, event: SessionEvent): void {
  if (event.seq !== control.nextSeq) refuse(event, `the next seq is ${control.nextSeq}`)
  if ((event.type === 'session/start') !== (event.seq === 0))
    refuse(event, 'a log begins with session/start, once')
  if (event.key === '') refuse(event, 'its key is empty')
  const taken = lookup.seqOfKey(event.key)
  if (taken !== undefined) refuse(event, `event ${taken} has this key`)
  const uncited = event.sourceEventSeqs?.find((seq) => seq < 0 || seq >= event.seq)
  if (uncited !== undefined) refuse(event, `it cites event ${uncited}, which is not before it`)
}

/** An event belongs to no turn or to the open one, to no step or to the open one. */
function checkTurn(control: LogControl, event: SessionEvent): void {
  const { openTurn, openStep } = control
  const turn = event.type === 'turn/start' ? event.data.turn : openTurn
  if (event.turn !== null && event.turn !== turn)
    refuse(event, `its turn is ${event.turn}, the open turn ${openTurn ?? 'none'}`)
  if (event.step === null) return
  const step = event.type === 'step/start' ? event.data.step : openStep
  if (event.turn === null || event.step !== step)
    refuse(event, `its step is ${event.step}, the open step ${openStep ?? 'none'}`)
}

function judgeLife(control: LogControl, event: SessionEvent): Partial<LogControl> {
  switch (event.type) {
    case 'session/start':
      return { life: 1 }
    case 'session/end-seed':
      if (control.openTurn !== null || control.bracket !== null)
        refuse(event, 'a life ends after its turn and its compaction')
      return { life: control.life + 1, closed: false }
    case 'session/close':
      if (control.closed) refuse(event, 'the session is closed already')
      return { closed: true }
    case 'request/header':
      return { headerSeq: event.seq }
    default:
      return {}
  }
}

function judgeTurn(control: LogControl, event: SessionEvent): Partial<LogControl> {
  const { openTurn, openStep, lastTurn, lastStep, bracket } = control
  switch (event.type) {
    case 'turn/start':
      if (control.closed) refuse(event, 'the session is closed')
      if (openTurn !== null) refuse(event, `turn ${openTurn} is open`)
      if (bracket !== null) refuse(event, `compaction ${bracket.compactionId} is open`)
      if (event.data.turn !== lastTurn + 1 || event.turn !== event.data.turn)
        refuse(event, `the next turn is ${lastTurn + 1}`)
      return { openTurn: event.data.turn, lastTurn: event.data.turn, lastStep: 0, openStep: null }
    case 'turn/end':
      if (event.data.turn !== openTurn || event.turn !== openTurn)
        refuse(event, `the open turn is ${openTurn ?? 'none'}`)
      if (openStep !== null) refuse(event, `step ${openStep} is open`)
      if (bracket !== null) refuse(event, `compaction ${bracket.compactionId} is open`)
      return { openTurn: null, lastStep: 0 }
    case 'step/start':
      if (event.data.turn !== openTurn || event.turn !== openTurn)
        refuse(event, `the open turn is ${openTurn ?? 'none'}`)
      if (openStep !== null) refuse(event, `step ${openStep} is open`)
      if (event.data.step !== lastStep + 1 || event.step !== event.data.step)
        refuse(event, `the next step is ${lastStep + 1}`)
      return { openStep: event.data.step, lastStep: event.data.step }
    case 'step/end':
      if (event.data.turn !== openTurn || event.data.step !== openStep)
        refuse(event, `the open step is ${openStep ?? 'none'}`)
      return { openStep: null }
    default:
      return {}
  }
}
