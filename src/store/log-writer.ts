import type { Written } from '../shared/ports/store.ts'
import { canonicalJson } from '../shared/session/canonical-json.ts'
import { eventFacts } from '../shared/session/event-facts.ts'
import type { SessionEvent } from '../shared/session/events.ts'
import type { LogControl, LogLookup, NodeFacts, SurfaceChange } from '../shared/session/log-control.ts'
import { checkBatchEnd, judge } from '../shared/session/log-rules.ts'
import type { CheckedEvent } from './checked-event.ts'
import type { Sql, SqlValue } from './connection.ts'
import type { StoredSession } from './session-rows.ts'
import type { Tx } from './store-context.ts'

/** Nodes of the surface; the words that the index `event_surface` is made of. */
const ON_SURFACE = 'shadowed_by IS NULL AND surface_order IS NOT NULL'

/**
 * Writes events of one session inside one transaction. Each is judged by the same rules as in the fold, with lookups in SQL that see the
 * events written before it. Nothing lasts unless `save` is called and the transaction commits.
 */
export class LogWriter implements LogLookup {
  readonly #tx: Tx
  readonly #session: StoredSession
  readonly #absent: ReadonlySet<string>
  readonly #written = new Map<string, SessionEvent>()
  #pending: PendingRow[] = []
  #control: LogControl

  /** `absent`: keys that the caller has looked up and not found. */
  constructor(tx: Tx, session: StoredSession, absent: ReadonlySet<string> = new Set()) {
    this.#tx = tx
    this.#session = session
    this.#absent = absent
    this.#control = session.control
  }

  get control(): LogControl {
    return this.#control
  }

  /** @throws SessionError `LogRejected`: the transaction must be rolled back */
  add({ event, json }: CheckedEvent): SessionEvent {
    const full: SessionEvent = { ...event, seq: this.#control.nextSeq, time: this.#tx.now }
    const { control, change } = judge(this.#control, this, full)
    const order = this.#changeSurface(full, change)
    this.#insert(full, json, order)
    this.#control = control
    this.#written.set(full.key, full)
    return full
  }

  addAll(events: readonly CheckedEvent[]): SessionEvent[] {
    return events.map((event) => this.add(event))
  }

  /** Puts what was added into the tables, where statements of others see it. */
  flush(): void {
    const rows = this.#pending
    this.#pending = []
    if (rows.length > 0) insertRows(this.#tx.sql, rows)
  }

  /** Ends the batch: the session's row follows its log, and live text of its messages leaves. @throws SessionError `LogRejected` */
  save(): Written {
    checkBatchEnd(this.#control)
    this.flush()
    this.#tx.sql.run(
      'DELETE FROM delta WHERE session = ? AND key IN (SELECT value FROM json_each(?))',
      this.#session.id,
      JSON.stringify([...this.#written.keys()]),
    )
    this.#tx.sql.run(
      'UPDATE session SET control = ?, updated_at = ? WHERE id = ?',
      JSON.stringify(this.#control),
      this.#tx.now,
      this.#session.id,
    )
    const { nextSeq, generation } = this.#control
    return { recorded: false, events: [...this.#written.values()], head: nextSeq, generation }
  }

  seqOfKey(key: string): number | undefined {
    const written = this.#written.get(key)
    if (written !== undefined || this.#absent.has(key)) return written?.seq
    return this.#tx.sql.one<{ seq: number }>(
      'SELECT seq FROM event WHERE session = ? AND key = ?',
      this.#session.id,
      key,
    )?.seq
  }

  span(start: number, end: number): readonly NodeFacts[] | null {
    const from = this.#orderOf(start)
    const to = start === end ? from : this.#orderOf(end)
    // Nothing lies between places that are not there, or in the wrong order.
    const nodes = this.#tx.sql.all<NodeFacts>(
      `SELECT seq, type, tokens, facts FROM event WHERE session = ? AND ${ON_SURFACE} AND surface_order BETWEEN ? AND ? ORDER BY surface_order`,
      this.#session.id,
      from,
      to,
    )
    return nodes.length === 0 ? null : nodes
  }

  shadowedBy(seq: number): readonly number[] {
    this.flush()
    const rows = this.#tx.sql.all<{ seq: number }>(
      'SELECT seq FROM event INDEXED BY event_shadowed WHERE session = ? AND shadowed_by = ? ORDER BY surface_order',
      this.#session.id,
      seq,
    )
    return rows.map((row) => row.seq)
  }

  #orderOf(seq: number): number | null {
    this.flush()
    const row = this.#tx.sql.one<{ surface_order: number }>(
      `SELECT surface_order FROM event WHERE session = ? AND seq = ? AND ${ON_SURFACE}`,
      this.#session.id,
      seq,
    )
    return row?.surface_order ?? null
  }

  /** Returns the order of the new node, or null when the event is none. */
  #changeSurface({ seq }: SessionEvent, change: SurfaceChange): number | null {
    const { sql } = this.#tx
    const session = this.#session.id
    switch (change.op) {
      case 'none':
        return null
      case 'append':
        return seq
      case 'replace': {
        const from = this.#orderOf(change.shadowed[0] ?? seq)
        const to = this.#orderOf(change.shadowed.at(-1) ?? seq)
        sql.run(
          `UPDATE event SET shadowed_by = ? WHERE session = ? AND ${ON_SURFACE} AND surface_order BETWEEN ? AND ?`,
          seq,
          session,
          from,
          to,
        )
        return from
      }
      case 'restore':
        this.flush()
        sql.run(
          'UPDATE event SET shadowed_by = NULL WHERE session = ? AND shadowed_by = ?',
          session,
          change.node,
        )
        sql.run('UPDATE event SET shadowed_by = ? WHERE session = ? AND seq = ?', seq, session, change.node)
        return null
    }
  }

  #insert(event: SessionEvent, json: string, order: number | null): void {
    const session = this.#session.id
    const facts = eventFacts(event)
    this.#pending.push({
      event: [
        session,
        event.seq,
        event.key,
        event.type,
        event.turn,
        event.step,
        event.time,
        event.tokens,
        facts === null ? null : canonicalJson(facts),
        event.surfaceOp === undefined ? null : JSON.stringify(event.surfaceOp),
        event.sourceEventSeqs === undefined ? null : JSON.stringify(event.sourceEventSeqs),
        order,
      ],
      body: [session, event.seq, this.#tx.encode(json)],
    })
  }
}

interface PendingRow {
  readonly event: readonly SqlValue[]
  readonly body: readonly SqlValue[]
}

/** Rows of one statement: most of the cost of a small row is the call. */
const ROWS_PER_INSERT = 16
const INSERT_EVENT =
  'INSERT INTO event (session, seq, key, type, turn, step, time, tokens, facts, surface_op, source_seqs, surface_order) VALUES'
const INSERT_BODY = 'INSERT INTO body (session, seq, body) VALUES'

function insertRows(sql: Sql, rows: readonly PendingRow[]): void {
  insert(
    sql,
    INSERT_EVENT,
    rows.map((row) => row.event),
  )
  insert(
    sql,
    INSERT_BODY,
    rows.map((row) => row.body),
  )
}

function insert(sql: Sql, statement: string, rows: readonly (readonly SqlValue[])[]): void {
  const one = `(${(rows[0] ?? []).map(() => '?').join(', ')})`
  const many = `${statement} ${Array(ROWS_PER_INSERT).fill(one).join(', ')}`
  let from = 0
  for (; from + ROWS_PER_INSERT <= rows.length; from += ROWS_PER_INSERT) {
    sql.run(many, ...rows.slice(from, from + ROWS_PER_INSERT).flat())
  }
  for (const row of rows.slice(from)) sql.run(`${statement} ${one}`, ...row)
}
