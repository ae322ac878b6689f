import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ErrorName, isSessionError, type SessionError } from '../../shared/errors.ts'
import type { Actor, Append, SessionStore, TurnRow, Written } from '../../shared/ports/store.ts'
import { text } from '../../shared/session/content.ts'
import type { NewEvent, SessionEvent } from '../../shared/session/events.ts'
import { foldLog } from '../../shared/session/log.ts'
import { ledgerOf } from '../../shared/usage/ledger.ts'
import { sampleHeader } from './sample-events.ts'

/** An empty store for one test. */
export interface StoreUnderTest {
  readonly store: SessionStore
  /** Another handle on the same data, as another process has it. */
  second(): Promise<SessionStore>
  /** Closes all handles and removes the data. */
  dispose(): Promise<void>
}

export type OpenStore = () => Promise<StoreUnderTest>

export const SESSION = 'pr-4711'
/** The run that owns the session at first, another run of its chain, and a run of another life. */
export const OWNER: Actor = { workflowId: 'w', runId: 'run-1' }
export const NEXT_RUN: Actor = { workflowId: 'w', runId: 'run-2' }
export const NEW_LIFE: Actor = { workflowId: 'w', runId: 'run-9' }
/** `sessionId` and `actor` of the owner's writes. */
export const AS_OWNER = { sessionId: SESSION, actor: OWNER } as const

/** Tests by name. Each gets a store of its own in which the session is open. */
export type StoreTests = Readonly<
  Record<string, (store: SessionStore, under: StoreUnderTest) => Promise<void>>
>

/** Registers the tests. When one ends, its store must agree with the fold of its log. */
export function registerTests(open: OpenStore, group: string, tests: StoreTests): void {
  describe(group, () => {
    for (const [name, body] of Object.entries(tests)) it(name, () => runTest(open, body))
  })
}

async function runTest(open: OpenStore, body: StoreTests[string]): Promise<void> {
  const under = await open()
  try {
    await under.store.createSession({ ...AS_OWNER, lifeRunId: 'run-1', header: sampleHeader() })
    await body(under.store, under)
    await assertFolded(under.store)
  } finally {
    await under.dispose()
  }
}

/** The surface and the numbers of the session are those that the pure fold makes of the stored events. */
export async function assertFolded(store: SessionStore, sessionId = SESSION): Promise<void> {
  const folded = foldLog(await allEvents(store, sessionId))
  const [session, surface, measured] = await Promise.all([
    store.session(sessionId),
    store.surface(sessionId),
    store.measure(sessionId),
  ])
  assert.deepEqual(surface.nodes, folded.surface)
  assert.deepEqual([surface.head, surface.generation], [folded.nextSeq, folded.generation])
  const prices = folded.surface.map(({ seq, type, tokens }) => ({ seq, type, tokens }))
  assert.deepEqual(measured, { head: folded.nextSeq, generation: folded.generation, nodes: prices })
  assert.deepEqual(
    [
      session?.head,
      session?.generation,
      session?.openTurn,
      session?.lastTurn,
      session?.openStep,
      session?.life,
      session?.closed,
    ],
    [
      folded.nextSeq,
      folded.generation,
      folded.openTurn,
      folded.lastTurn,
      folded.lastStep,
      folded.life,
      folded.closed,
    ],
  )
  assert.equal(session?.headerSeq, folded.headerSeq)
  const log = await allEvents(store, sessionId)
  assert.deepEqual(session?.usage, ledgerOf(log))
  for (const { compactionId, usage } of await store.attempts({ sessionId })) {
    const ofAttempt = log.filter(({ key }) => key.startsWith(`compact.${compactionId}.call.`))
    assert.deepEqual(usage, ledgerOf(ofAttempt))
  }
  assert.equal(session?.openCompactionId, folded.bracket?.compactionId ?? null)
}

export const allEvents = (store: SessionStore, sessionId = SESSION): Promise<readonly SessionEvent[]> =>
  store.events(sessionId, { limit: 1_000_000 })

export const appendTo = (
  store: SessionStore,
  turn: number | null,
  events: readonly NewEvent[],
  rest: Partial<Append> = {},
): Promise<Written> => store.append({ ...AS_OWNER, turn, events, ...rest })

/** Opens turn 1: seq 2 its start, seq 3 its prompt of 2 tokens. */
export const openTurn = (store: SessionStore): Promise<TurnRow> =>
  store.startTurn({
    ...AS_OWNER,
    requestId: 'q',
    messages: [{ requestId: 'q', content: [text('hi')], source: 'prompt', tokens: 2 }],
  })

/** The promise must fail with this error; whatever it tried, the log is what it was. */
export async function refused(
  store: SessionStore,
  name: ErrorName,
  write: () => Promise<unknown>,
): Promise<SessionError> {
  const before = await snapshot(store)
  const error = await failure(write, name)
  assert.deepEqual(await snapshot(store), before, 'a refused write leaves nothing behind')
  return error
}

export async function failure(write: () => Promise<unknown>, name: ErrorName): Promise<SessionError> {
  try {
    await write()
  } catch (error) {
    if (!isSessionError(error, name)) throw error
    assert.ok(error.message.length > 20, 'the message says what is wrong')
    return error
  }
  return assert.fail(`expected ${name}`)
}

async function snapshot(store: SessionStore): Promise<unknown> {
  if ((await store.session(SESSION)) === null) return null
  return {
    session: await store.session(SESSION),
    events: await allEvents(store),
    surface: await store.surface(SESSION),
    attempts: await store.attempts({ sessionId: SESSION }),
    inbox: await store.inbox(SESSION),
    meter: await store.meter(SESSION),
  }
}
