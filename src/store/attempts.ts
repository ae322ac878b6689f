import { SessionError } from '../shared/errors.ts'
import type {
  ActorInput,
  AttemptInput,
  AttemptRow,
  CloseAttempt,
  CommitAttempt,
  CompactionPlan,
  OpenAttempt,
  StoredSummary,
} from '../shared/ports/store.ts'
import type { CompactionOutcome } from '../shared/protocol.ts'
import type { AttemptError } from '../shared/session/events.ts'
import { turnClosed } from '../shared/session/log-rules.ts'
import { wellFormed } from '../shared/session/well-formed.ts'
import { checkHead } from './append.ts'
import {
  bracketEnd,
  bracketStart,
  checkCommit,
  failedOutcome,
  inputOfId,
  landingCheckpoint,
  planProblem,
  spanProblem,
} from './attempt-events.ts'
import { findAttempt, type StoredAttempt, toAttemptRow } from './attempt-rows.ts'
import { checkedEvent, checkedEvents } from './checked-event.ts'
import { finishRequests } from './inbox.ts'
import { LogWriter } from './log-writer.ts'
import { saveMeter } from './meter.ts'
import { loadSession, ownedSession, type StoredSession } from './session-rows.ts'
import { type StoreContext, type Tx, write } from './store-context.ts'

/** As `compactionIds` makes them. */
const COMPACTION_ID_PATTERN = /^[A-Za-z0-9._-]{1,180}$/

export async function openAttempt(context: StoreContext, input: OpenAttempt): Promise<AttemptRow> {
  const { compactionId } = input.attempt
  checkOpening(input)
  const copies = checkedEvents(input.copies)
  return attemptRow(
    context,
    copies.map((copy) => copy.json),
    (tx) => {
      const session = ownedSession(tx, input)
      const known = findAttempt(tx.sql, session.id, compactionId)
      if (known !== null) return known
      checkFree(session, input)
      const writer = new LogWriter(tx, session)
      writer.addAll(copies)
      const start = input.plan === undefined ? null : startBracket(writer, input.attempt, input.plan)
      insertAttempt(tx, session, {
        input: input.attempt,
        state: start === null ? 'void' : 'open',
        plan: input.plan ?? null,
        startSeq: start,
        outcome: input.void === undefined ? null : atHead(input.void, writer),
      })
      saveMeter(tx.sql, session.id, input.meter)
      writer.save()
      return requireAttempt(tx, session, compactionId)
    },
  )
}

function checkOpening({ attempt, copies, plan, void: outcome }: OpenAttempt): void {
  checkId(attempt.compactionId)
  const stray = copies.find((copy) => copy.type !== 'compact/prune' && copy.type !== 'tool/result')
  if (stray !== undefined) throw invalid(attempt.compactionId, `${stray.type} is no shadow copy`)
  if ((plan === undefined) === (outcome === undefined))
    throw invalid(attempt.compactionId, 'it needs a plan or an outcome without one, and not both')
  if (plan?.shadowedSeqs.length === 0) throw invalid(attempt.compactionId, 'its plan has no node')
}

function checkFree(session: StoredSession, { attempt, expectedHead }: OpenAttempt): void {
  const { control, sessionId } = session
  if (control.bracket !== null) {
    throw new SessionError(
      'Busy',
      `Compaction ${control.bracket.compactionId} of session ${sessionId} is open: wait for its end.`,
      {
        compactionId: control.bracket.compactionId,
      },
    )
  }
  if (attempt.turn !== null && attempt.turn !== control.openTurn) throw turnClosed(control, attempt.turn)
  checkHead(session, expectedHead)
}

function startBracket(writer: LogWriter, attempt: AttemptInput, plan: CompactionPlan): number {
  const problem = planProblem(plan, writer.control, spanOf(writer, plan))
  if (problem !== undefined) {
    throw new SessionError(
      'LogRejected',
      `The plan of compaction ${attempt.compactionId} is not true of the surface: ${problem}.`,
    )
  }
  return writer.add(checkedEvent(bracketStart(attempt, writer.control.openStep))).seq
}

export async function recordSummary(
  context: StoreContext,
  input: ActorInput & { compactionId: string; summary: StoredSummary },
): Promise<AttemptRow> {
  const json = JSON.stringify(wellFormed(input.summary))
  return attemptRow(context, [json], (tx) => {
    const session = ownedSession(tx, input)
    const known = requireAttempt(tx, session, input.compactionId)
    if (known.row.state !== 'open' || known.summary !== null) return known
    tx.sql.run(
      'UPDATE attempt SET summary = ? WHERE session = ? AND compaction_id = ?',
      tx.encode(json),
      session.id,
      input.compactionId,
    )
    return requireAttempt(tx, session, input.compactionId)
  })
}

export async function commitAttempt(context: StoreContext, input: CommitAttempt): Promise<AttemptRow> {
  const { compactionId } = input
  const jsons = checkedEvents([input.summary, input.checkpoint]).map((event) => event.json)
  return attemptRow(context, jsons, (tx) => {
    const session = ownedSession(tx, input)
    const known = requireAttempt(tx, session, compactionId)
    const { row } = known
    if (row.state !== 'open' || row.plan === null) return known
    checkCommit(input, row.plan)
    const writer = new LogWriter(tx, session)
    const changed = spanProblem(row.plan, spanOf(writer, row.plan))
    if (changed === undefined) commitTo(tx, session, writer, row, row.plan, input)
    else
      endOpenAttempt(tx, session, writer, {
        code: 'changed',
        stage: 'commit',
        message: `Since the summary was made, ${changed}.`,
      })
    writer.save()
    return requireAttempt(tx, session, compactionId)
  })
}

function commitTo(
  tx: Tx,
  session: StoredSession,
  writer: LogWriter,
  row: AttemptRow,
  plan: CompactionPlan,
  input: CommitAttempt,
): void {
  const summary = writer.add(checkedEvent({ ...input.summary, turn: row.turn, step: null }))
  const checkpoint = writer.add(checkedEvent(landingCheckpoint(row, plan, input.checkpoint, summary.seq)))
  const end = writer.add(checkedEvent(bracketEnd(row)))
  endAttempt(tx, session, row, {
    ...atHead(input.outcome, writer),
    startSeq: row.startSeq ?? 0,
    summarySeq: summary.seq,
    checkpointSeq: checkpoint.seq,
    endSeq: end.seq,
  })
  saveMeter(tx.sql, session.id, input.meter)
}

export async function closeAttempt(context: StoreContext, input: CloseAttempt): Promise<AttemptRow> {
  const { sessionId, compactionId, error, outcome, requestIds, meter } = input
  checkId(compactionId)
  return attemptRow(context, [], (tx) => {
    const session = loadSession(tx.sql, sessionId)
    const known = findAttempt(tx.sql, session.id, compactionId)
    if (known !== null && known.row.state !== 'open') return known
    const writer = new LogWriter(tx, session)
    if (known === null) {
      const voided = failedOutcome({ compactionId, plan: null }, writer.control, error)
      insertAttempt(tx, session, {
        input: { ...inputOfId(sessionId, compactionId), ...(requestIds === undefined ? {} : { requestIds }) },
        state: 'void',
        plan: null,
        startSeq: null,
        outcome: { ...voided, ...measured(outcome), error },
      })
    } else {
      endOpenAttempt(tx, session, writer, error, outcome)
      saveMeter(tx.sql, session.id, meter)
      writer.save()
    }
    return requireAttempt(tx, session, compactionId)
  })
}

/** Ends the open attempt with an error, if there is one. */
export function endOpenAttempt(
  tx: Tx,
  session: StoredSession,
  writer: LogWriter,
  error: AttemptError,
  outcome?: CompactionOutcome,
): void {
  const { bracket } = writer.control
  if (bracket === null) return
  const { row } = requireAttempt(tx, session, bracket.compactionId)
  const end = writer.add(checkedEvent(bracketEnd(row, error)))
  endAttempt(tx, session, row, {
    ...failedOutcome(row, writer.control, error),
    ...measured(outcome),
    startSeq: bracket.startSeq,
    endSeq: end.seq,
  })
}

/** What a closer measured; how the attempt ended is the store's to say. */
function measured(outcome: CompactionOutcome | undefined): Partial<CompactionOutcome> {
  if (outcome === undefined) return {}
  const { reading, tokensBefore, tokensAfter, paid } = outcome
  return { reading, tokensBefore, tokensAfter, paid }
}

/** The outcome's reading is of the log as this write leaves it. */
function atHead(outcome: CompactionOutcome, { control }: LogWriter): CompactionOutcome {
  return {
    ...outcome,
    reading: { ...outcome.reading, headSeq: control.nextSeq, generation: control.generation },
  }
}

function endAttempt(
  { sql, now }: Tx,
  session: StoredSession,
  row: AttemptRow,
  outcome: CompactionOutcome,
): void {
  sql.run(
    `UPDATE attempt SET state = 'ended', outcome = ?, ended_at = ? WHERE session = ? AND compaction_id = ?`,
    JSON.stringify(outcome),
    now,
    session.id,
    row.compactionId,
  )
  finishRequests(sql, session.id, row)
}

interface NewAttempt {
  readonly input: AttemptInput
  readonly state: 'open' | 'void'
  readonly plan: CompactionPlan | null
  readonly startSeq: number | null
  readonly outcome: CompactionOutcome | null
}

function insertAttempt(
  { sql, now }: Tx,
  { id, control }: StoredSession,
  { input, state, plan, startSeq, outcome }: NewAttempt,
): void {
  sql.run(
    `INSERT INTO attempt (session, compaction_id, state, life, input, plan, start_seq, outcome, started_at, ended_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    id,
    input.compactionId,
    state,
    control.life,
    JSON.stringify(wellFormed(input)),
    plan === null ? null : JSON.stringify(plan),
    startSeq,
    outcome === null ? null : JSON.stringify(outcome),
    now,
    state === 'void' ? now : null,
  )
  if (state === 'void') finishRequests(sql, id, input)
}

const spanOf = (writer: LogWriter, { shadowedSeqs }: CompactionPlan) =>
  writer.span(shadowedSeqs[0] ?? 0, shadowedSeqs.at(-1) ?? 0)

export function requireAttempt(
  { sql }: Tx,
  { id, sessionId }: StoredSession,
  compactionId: string,
): StoredAttempt {
  const found = findAttempt(sql, id, compactionId)
  if (found !== null) return found
  throw new SessionError(
    'LogRejected',
    `Session ${sessionId} has no compaction ${JSON.stringify(compactionId)}: open it first.`,
    { compactionId },
  )
}

function checkId(compactionId: string): void {
  if (!COMPACTION_ID_PATTERN.test(compactionId))
    throw invalid(compactionId, 'an id has 1 to 180 characters of A-Z a-z 0-9 . _ -')
}

const invalid = (compactionId: string, problem: string) =>
  new SessionError('InvalidInput', `Compaction ${JSON.stringify(compactionId)}: ${problem}.`)

async function attemptRow(
  context: StoreContext,
  jsons: readonly string[],
  body: (tx: Tx) => StoredAttempt,
): Promise<AttemptRow> {
  return toAttemptRow(context, await write(context, jsons, body))
}
