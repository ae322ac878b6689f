import { isCheckpointNode } from '../../src/shared/compaction/checkpoint-node.ts'
import type { ErrorName } from '../../src/shared/errors.ts'
import { isSessionError } from '../../src/shared/errors.ts'
import type { Append, CompactionPlan, OpenAttempt, SessionStore } from '../../src/shared/ports/store.ts'
import { text } from '../../src/shared/session/content.ts'
import type { NewEvent, SurfaceNode } from '../../src/shared/session/events.ts'
import { keys } from '../../src/shared/session/keys.ts'
import { applyBatch, applyEvent, type LogState } from '../../src/shared/session/log.ts'
import { AS_OWNER, SESSION } from '../../src/store/contract/harness.ts'
import { committing, opening } from '../../src/store/contract/sample-attempt.ts'
import {
  assistantMessage,
  checkpoint,
  compactCall,
  compactEnd,
  compactRestore,
  compactStart,
  compactSummary,
  endSeed,
  shadowCopy,
  stepEnd,
  stepStart,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from '../../src/store/contract/sample-events.ts'
import type { Operation } from './log-operations.ts'

/** What an operation must do: fail by this name, change nothing, or be accepted. */
export type Verdict = ErrorName | 'recorded' | 'accepted'

/** One operation, ready to run, with what the pure rules say of it. */
export interface Prepared {
  readonly expected: Verdict
  run(store: SessionStore): Promise<unknown>
}

/** What the model knows: the fold of the stored events, the attempts' states, and who owns the session. */
export interface Model {
  state: LogState
  actor: { workflowId: string; runId: string }
  fence: number
  readonly attempts: Map<string, 'open' | 'ended' | 'void'>
  readonly plans: Map<string, CompactionPlan>
}

const has = (model: Model, key: string) =>
  (model.state.fold.seqs.get(key) ?? Number.POSITIVE_INFINITY) < model.state.nextSeq
const nodeAt = (model: Model, pick: number): SurfaceNode | undefined =>
  model.state.surface[pick % Math.max(1, model.state.surface.length)]

/** The verdict of the pure rules on these events, written together. */
function judged(model: Model, events: readonly NewEvent[]): Verdict {
  try {
    events.reduce<LogState>(
      (state, event) => applyEvent(state, { ...event, seq: state.nextSeq, time: 0 }),
      model.state,
    )
    return 'accepted'
  } catch (error) {
    if (isSessionError(error)) return error.name
    throw error
  }
}

const OWNED = /^(session\/(start|end-seed|close)|turn\/|compact\/(start|call|summary|end))/

function appending(model: Model, turn: number | null, events: readonly NewEvent[]): Prepared {
  return {
    expected: appendVerdict(model, turn, events),
    run: (store) => store.append({ sessionId: SESSION, actor: model.actor, turn, events } satisfies Append),
  }
}

function appendVerdict(model: Model, turn: number | null, events: readonly NewEvent[]): Verdict {
  if (events.some((event) => has(model, event.key))) return 'recorded'
  try {
    if (turn !== null && turn !== model.state.openTurn) return 'TurnClosed'
    if (events.some((event) => OWNED.test(event.type))) return 'LogRejected'
    applyBatch(model.state, { turn, events }, 0)
    return 'accepted'
  } catch (error) {
    if (isSessionError(error)) return error.name
    throw error
  }
}

type Prepare = (model: Model, operation: Operation) => Prepared

const append: Prepare = (model, { pick, other, flaw }) => {
  const { openTurn, openStep } = model.state
  const turn = flaw === 1 ? 1 + (other % 3) : flaw === 2 ? null : openTurn
  const place = { turn: flaw === 3 ? 1 : openTurn, step: flaw === 4 ? 1 : openStep }
  const events: NewEvent[] = [userMessage(`m${pick % 60}`, 'words', place)]
  if (flaw === 5) events.push(userMessage(`m${pick % 60}`, 'again', place))
  if (flaw === 6)
    events.push({
      ...userMessage(`x${pick}`, 'x', place),
      surfaceOp: { op: 'replace', start: other % 9, end: other % 9 },
    })
  if (flaw === 7) events.push(turnStart(1), endSeed(2))
  if (flaw === 8) events.push({ ...userMessage(`y${pick}`, 'y', place), sourceEventSeqs: [other] })
  return appending(model, turn, events)
}

const step: Prepare = (model, { pick, other, flaw }) => {
  const { openTurn, openStep, lastStep } = model.state
  const turn = openTurn ?? 1
  const next = lastStep + 1 + (flaw === 1 ? 1 : 0)
  const calls = Array.from({ length: pick % 3 }, (_, i) => `c${next}-${i}`)
  const opened = [stepStart(turn, next), assistantMessage(turn, next, 'look', calls)]
  const results = calls.slice(other % 2).map((id) => toolResult(turn, next, id, 'a long result'))
  const ended = openStep === null ? [] : [stepEnd(turn, openStep + (flaw === 2 ? 1 : 0))]
  return appending(model, flaw === 3 ? null : turn, flaw === 4 ? opened : [...ended, ...opened, ...results])
}

/** A node that a copy may stand for. */
const isCopied = (node: SurfaceNode): node is SurfaceNode & NewEvent<'tool/result' | 'user/message'> =>
  node.type === 'tool/result' || (node.type === 'user/message' && !isCheckpointNode(node))

const withOtherFacts = (shadow: NewEvent<'tool/result' | 'user/message'>): NewEvent =>
  shadow.type === 'tool/result'
    ? { ...shadow, data: { ...shadow.data, isError: true } }
    : { ...shadow, data: { ...shadow.data, source: 'context' } }

const copy: Prepare = (model, { pick, other, flaw }) => {
  const copied = model.state.surface.filter(isCopied)
  const target = flaw === 1 ? nodeAt(model, pick) : copied[pick % Math.max(1, copied.length)]
  if (target === undefined) return append(model, { kind: 'append', pick, other, flaw })
  const original = isCopied(target) ? target : { ...toolResult(1, 1, 'none', ''), tokens: target.tokens }
  const [price, shadow] = shadowCopy(original, flaw === 2 ? other % model.state.nextSeq : target.seq)
  const events: NewEvent[] = [
    flaw === 3
      ? { ...price, data: { ...price.data, shadowedTokenCount: price.data.shadowedTokenCount + 1 } }
      : price,
    ...(flaw === 4 ? [userMessage(`b${pick}`, 'between')] : []),
    flaw === 5
      ? withOtherFacts(shadow)
      : flaw === 6
        ? { ...shadow, sourceEventSeqs: [] }
        : flaw === 7
          ? {
              ...shadow,
              surfaceOp: { op: 'replace', start: target.seq, end: nodeAt(model, other)?.seq ?? 0 },
            }
          : shadow,
  ]
  return appending(model, null, flaw === 8 ? events.slice(0, 1) : flaw === 9 ? events.slice(1) : events)
}

const restore: Prepare = (model, { pick, other, flaw }) => {
  const ids = [...model.attempts.keys()]
  const id = ids[pick % Math.max(1, ids.length)] ?? 'manual.none'
  const seq = model.state.fold.seqs.get(keys.compactCheckpoint(id)) ?? other
  const node = flaw === 1 ? (nodeAt(model, other)?.seq ?? 0) : seq
  const event = compactRestore(id, node)
  return appending(model, null, [
    flaw === 2 ? { ...event, surfaceOp: { op: 'restore', node: other % 9 } } : event,
  ])
}

const startTurn: Prepare = (model, { pick, flaw }) => {
  const requestId = `r${pick % 12}`
  const { state, actor } = model
  const turn = state.lastTurn + 1
  const message = { requestId, content: [text('hi')], source: 'prompt' as const, tokens: 2 }
  const events = [turnStart(turn, requestId), userMessage(requestId, 'hi', { turn })]
  const known = has(model, keys.turnStart(requestId))
  const expected: Verdict = known
    ? 'recorded'
    : state.closed
      ? 'SessionClosed'
      : flaw === 1
        ? 'InvalidInput'
        : judged(model, events)
  return {
    expected,
    run: (store) =>
      store.startTurn({ sessionId: SESSION, actor, requestId, messages: flaw === 1 ? [] : [message] }),
  }
}

const endTurn: Prepare = (model, { other, flaw }) => {
  const { state, actor } = model
  const turn = flaw === 1 ? 1 + (other % 4) : (state.openTurn ?? state.lastTurn)
  const ends = [...(state.openStep === null ? [] : [stepEnd(turn, state.openStep)]), turnEnd(turn)]
  const expected: Verdict =
    turn === 0
      ? 'TurnClosed'
      : has(model, keys.turnEnd(turn))
        ? 'recorded'
        : turn !== state.openTurn
          ? 'TurnClosed'
          : judged(model, ends)
  return { expected, run: (store) => store.endTurn({ sessionId: SESSION, actor, turn, reason: 'completed' }) }
}

const openAttempt: Prepare = (model, { pick, other, flaw }) => {
  const { state, actor } = model
  const compactionId = `manual.${pick % 12}`
  const nodes = state.surface
  const from = other % Math.max(1, nodes.length)
  const span = nodes.slice(from, from + 1 + (pick % 5))
  const plan: CompactionPlan = {
    shadowedSeqs:
      flaw === 1
        ? span.map((node) => node.seq).reverse()
        : flaw === 2
          ? [...span.map((node) => node.seq), 0]
          : span.map((node) => node.seq),
    shadowedTokenCount: span.reduce((sum, node) => sum + node.tokens, flaw === 3 ? 1 : 0),
    generation: state.generation + (flaw === 4 ? 1 : 0),
    chunkEnds: [span.at(-1)?.seq ?? 0],
    tokensBefore: 1,
    checkpointTokens: 1,
  }
  const turn = flaw === 5 ? (state.openTurn === null ? 1 : null) : state.openTurn
  const input: OpenAttempt = opening({ head: state.nextSeq - (flaw === 6 ? 1 : 0), plan, turn })
  const attempt = { ...input.attempt, compactionId }
  const planIsTrue = ![1, 2, 3, 4].includes(flaw) || (flaw === 1 && span.length === 1)
  const expected: Verdict = model.attempts.has(compactionId)
    ? 'recorded'
    : state.bracket !== null
      ? 'Busy'
      : turn !== null && turn !== state.openTurn
        ? 'TurnClosed'
        : flaw === 6
          ? 'HeadMoved'
          : planIsTrue
            ? judged(model, [compactStart(compactionId, turn)])
            : 'LogRejected'
  return {
    expected:
      span.length === 0 ? (flaw === 2 && expected !== 'recorded' ? expected : 'InvalidInput') : expected,
    run: async (store) => {
      const row = await store.openAttempt({ ...input, actor, attempt })
      model.attempts.set(compactionId, row.state)
      if (row.plan !== null) model.plans.set(compactionId, row.plan)
    },
  }
}

const someAttempt = (model: Model, pick: number, flaw: number): string => {
  const ids = [...model.attempts.keys()]
  return flaw === 1
    ? `manual.${pick % 12}`
    : (model.state.bracket?.compactionId ?? ids[pick % Math.max(1, ids.length)] ?? 'manual.none')
}

const commitAttempt: Prepare = (model, { pick, flaw }) => {
  const { state, actor } = model
  const id = someAttempt(model, pick, flaw)
  const plan = model.plans.get(id)
  const seqs = plan?.shadowedSeqs ?? []
  const turn = state.bracket?.turn ?? null
  const first = state.surface.findIndex((node) => node.seq === seqs[0])
  const stands = first >= 0 && seqs.every((seq, i) => state.surface[first + i]?.seq === seq)
  const tokens = (plan?.shadowedTokenCount ?? 0) + (flaw === 2 ? 1 : 0)
  const at = state.nextSeq
  const summary = compactSummary(id, flaw === 3 ? seqs.slice(1) : seqs, tokens, turn)
  const events = stands
    ? [summary, checkpoint(id, seqs, [state.bracket?.startSeq ?? 0, at], turn), compactEnd(id, turn)]
    : [compactEnd(id, turn, true)]
  const known = model.attempts.get(id)
  const expected: Verdict =
    known === undefined
      ? 'LogRejected'
      : known !== 'open'
        ? 'recorded'
        : flaw === 3
          ? 'InvalidInput'
          : judged(model, events)
  return {
    expected,
    run: async (store) => {
      const row = await store.commitAttempt(
        committing({ actor, compactionId: id, summary, checkpoint: checkpoint(id, seqs) }),
      )
      model.attempts.set(id, row.state)
      if (known === 'open' && (row.outcome?.outcome === 'compacted') !== stands)
        throw new Error(`committed: ${row.outcome?.outcome}, plan true: ${stands}`)
    },
  }
}

const closeAttempt: Prepare = (model, { pick, flaw }) => {
  const compactionId = someAttempt(model, pick, flaw)
  const known = model.attempts.get(compactionId)
  return {
    expected: known === 'open' ? 'accepted' : 'recorded',
    run: async (store) => {
      const row = await store.closeAttempt({
        sessionId: SESSION,
        compactionId,
        error: { code: 'cancelled', stage: 'test', message: 'test' },
      })
      model.attempts.set(compactionId, row.state)
    },
  }
}

const recordCall: Prepare = (model, { pick, other, flaw }) => {
  const id = someAttempt(model, pick, flaw)
  const known = model.attempts.get(id)
  const complete = other % 2 === 0
  const recorded = complete && has(model, keys.compactCall(id, 0))
  const expected =
    known === undefined || known === 'void' ? 'LogRejected' : recorded ? 'recorded' : 'accepted'
  return {
    expected,
    run: (store) =>
      store.recordCall({
        sessionId: SESSION,
        actor: model.actor,
        compactionId: id,
        complete,
        event: compactCall(id),
        index: 0,
      }),
  }
}

const takeOver: Prepare = (model, { pick, flaw }) => {
  const actor = { workflowId: 'w', runId: `run-${10 + (pick % 500)}` }
  const lifeRunId = pick % 2 === 0 ? 'run-1' : `life-${pick % 3}`
  const wasOwner = actor.runId === model.actor.runId
  return {
    expected: wasOwner ? 'recorded' : flaw === 1 ? 'HeadMoved' : 'accepted',
    run: async (store) => {
      try {
        const row = await store.takeOver({
          sessionId: SESSION,
          actor,
          lifeRunId,
          expectedFence: model.fence - (flaw === 1 ? 1 : 0),
        })
        Object.assign(model, { actor: row.owner, fence: row.fence })
      } catch (error) {
        // A run that owned the session before is refused, whatever the fence: the model does not keep the list.
        if (!isSessionError(error, 'NotOwner')) throw error
      }
      for (const [id, state] of model.attempts)
        if (state === 'open') model.attempts.set(id, (await store.attempt(SESSION, id))?.state ?? 'open')
    },
  }
}

const closeSession: Prepare = (model, { pick }) => ({
  expected: model.state.closed || has(model, keys.close(`q${pick % 5}`)) ? 'recorded' : 'accepted',
  run: (store) => store.closeSession({ ...AS_OWNER, actor: model.actor, requestId: `q${pick % 5}` }),
})

export const PREPARE: Readonly<Record<Operation['kind'], Prepare>> = {
  append,
  step,
  copy,
  restore,
  startTurn,
  endTurn,
  openAttempt,
  commitAttempt,
  closeAttempt,
  recordCall,
  takeOver,
  closeSession,
}
