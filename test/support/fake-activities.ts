import { randomUUID } from 'node:crypto'
import { Context } from '@temporalio/activity'
import type { Client } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import type { SessionActivities } from '../../src/shared/activity-protocol.ts'
import type { CompactionOutcome } from '../../src/shared/protocol.ts'
import type { TurnEndReason } from '../../src/shared/session/events.ts'
import { FakeSession, NOTHING_PAID, type Reply, type Script, type Turn } from './fake-session.ts'

// The session activities over plain memory, for tests of the workflows alone: first write wins, attempts are absent, open, ended or void, turns bound appends.

type Input<K extends keyof SessionActivities> = Parameters<SessionActivities[K]>[0]
type Result<K extends keyof SessionActivities> = Awaited<ReturnType<SessionActivities[K]>>

/** Resolves when `work` does, rejects at once when the activity is cancelled; beats meanwhile. */
async function beating<T>(work: () => Promise<T> | T): Promise<T> {
  const context = Context.current()
  const timer = setInterval(() => context.heartbeat(), 200)
  context.heartbeat()
  try {
    return await Promise.race([Promise.resolve(work()), context.cancelled])
  } finally {
    clearInterval(timer)
  }
}

export interface FakeSessions {
  readonly activities: SessionActivities
  /** Creates or finds. */
  session(sessionId: string): FakeSession
  newId(): string
}

/** `scriptOf` is asked at every call, so that one worker serves sessions with scripts of their own. */
export function fakeSessions(client: Client, scriptOf: (sessionId: string) => Script): FakeSessions {
  const sessions = new Map<string, FakeSession>()
  const known = (sessionId: string): FakeSession => {
    const session = sessions.get(sessionId)
    if (session === undefined)
      throw ApplicationFailure.nonRetryable(`Session ${sessionId} is not known.`, 'SessionNotFound')
    return session
  }
  return {
    newId: () => `s-${randomUUID().slice(0, 13)}`,
    session(sessionId) {
      const session = sessions.get(sessionId) ?? new FakeSession()
      sessions.set(sessionId, session)
      return session
    },
    activities: {
      ...sessionPart(client, scriptOf, sessions, known),
      ...turnPart(scriptOf, known),
      ...compactionPart(scriptOf, known),
    },
  }
}

type Known = (sessionId: string) => FakeSession
type ScriptOf = (sessionId: string) => Script

function sessionPart(client: Client, scriptOf: ScriptOf, sessions: Map<string, FakeSession>, known: Known) {
  return {
    async sessionOpen({ sessionId, start }: Input<'sessionOpen'>): Promise<Result<'sessionOpen'>> {
      if (start !== undefined && !sessions.has(sessionId)) sessions.set(sessionId, new FakeSession())
      const session = known(sessionId)
      if (start?.model === 'unknown/model')
        throw ApplicationFailure.nonRetryable('No worker has unknown/model.', 'UnknownModel')
      if (session.closed && start === undefined)
        throw ApplicationFailure.nonRetryable(`Session ${sessionId} was closed.`, 'SessionClosed')
      const { workflowExecution } = Context.current().info
      const { raw } = await client.workflow.getHandle(sessionId, workflowExecution?.runId).describe()
      const firstRunId = raw.workflowExecutionInfo?.firstRunId ?? ''
      if (session.lifeRunId !== firstRunId) {
        session.lifeRunId = firstRunId
        session.life++
        session.closed = false
        const open = session.openTurn
        if (open !== undefined) open.end = 'interrupted'
        session.log.push(`life ${session.life}`)
      }
      const { openTurn } = session
      return {
        life: session.life,
        reading: session.reading(),
        idleTimeoutMs: idleTimeoutOf(scriptOf(sessionId)),
        openTurn: openTurn === undefined ? null : { turn: openTurn.turn, requestId: openTurn.requestId },
        waiting: [...session.rows.values()]
          .filter((row) => row.kind === 'prompt' && row.state === 'waiting' && row.delivery !== 'no-wake')
          .map(({ requestId, delivery }) => ({ requestId, delivery })),
        controlsWait: false,
      }
    },
    async sessionAccept({ sessionId, prompts }: Input<'sessionAccept'>): Promise<Result<'sessionAccept'>> {
      const session = known(sessionId)
      const refused: { requestId: string; error: string }[] = []
      for (const { requestId, content, delivery = 'next-turn' } of prompts) {
        const body = JSON.stringify(content)
        const row = session.rows.get(requestId)
        if (row === undefined)
          session.rows.set(requestId, { requestId, kind: 'prompt', body, delivery, state: 'waiting' })
        else if (row.body !== body) refused.push({ requestId, error: 'KeyConflict' })
      }
      session.log.push(`accept ${prompts.map(({ requestId }) => requestId).join(' ')}`)
      return { refused }
    },
    async sessionSettle({ sessionId, rows }: Input<'sessionSettle'>): Promise<void> {
      const session = known(sessionId)
      for (const { requestId, state, compactionId, error } of rows) {
        session.log.push(`settle ${requestId} ${state} ${compactionId ?? error ?? ''}`.trimEnd())
        const row = session.rows.get(requestId)
        if (row?.state === 'waiting') Object.assign(row, { state, note: compactionId ?? error })
      }
    },
    async sessionControl({
      sessionId,
      requests,
    }: Input<'sessionControl'>): Promise<Result<'sessionControl'>> {
      const session = known(sessionId)
      const { compactionRetries = 1, maxOverflowRetries = 1 } = scriptOf(sessionId)
      await beating(() => scriptOf(sessionId).control?.(requests.map(({ requestId }) => requestId)))
      session.log.push(...requests.map(({ requestId, body }) => `control ${requestId} ${body?.kind}`))
      const idleTimeoutMs = idleTimeoutOf(scriptOf(sessionId))
      return { reading: session.reading(), idleTimeoutMs, compactionRetries, maxOverflowRetries, refused: 0 }
    },
    async sessionClose({ sessionId, reason }: Input<'sessionClose'>): Promise<void> {
      const session = known(sessionId)
      session.closed = true
      session.log.push(`close ${reason ?? ''}`.trimEnd())
    },
  }
}

function turnPart(scriptOf: ScriptOf, known: Known) {
  return {
    async sessionStartTurn({
      sessionId,
      requestId,
    }: Input<'sessionStartTurn'>): Promise<Result<'sessionStartTurn'>> {
      const session = known(sessionId)
      await scriptOf(sessionId).startTurn?.(requestId, session)
      const settings = {
        compactionRetries: scriptOf(sessionId).compactionRetries ?? 1,
        maxOverflowRetries: scriptOf(sessionId).maxOverflowRetries ?? 1,
      }
      const found = session.turns.find((turn) => turn.requestId === requestId)
      if (found !== undefined) {
        const status = found.end === undefined ? 'resumed' : 'ended'
        return {
          turn: found.turn,
          status,
          step: Math.max(1, found.step),
          reading: session.reading(),
          ...settings,
        }
      }
      const row = session.rows.get(requestId)
      if (row === undefined) throw ApplicationFailure.nonRetryable(`No prompt ${requestId}.`, 'InvalidInput')
      const turn = session.turns.length + 1
      if (row.state !== 'waiting')
        return { turn, status: 'ended', step: 1, reading: session.reading(), ...settings }
      if (session.openTurn !== undefined)
        throw ApplicationFailure.nonRetryable('Another turn is open.', 'LogRejected')
      row.state = 'running'
      const quiet = [...session.rows.values()].filter(
        (each) => each.delivery === 'no-wake' && each.state === 'waiting',
      )
      for (const each of quiet) each.state = 'running'
      session.turns.push({ turn, requestId, step: 0 })
      session.log.push(`turn ${turn} start ${[requestId, ...quiet.map((each) => each.requestId)].join(' ')}`)
      return { turn, status: 'new', step: 1, reading: session.reading(), ...settings }
    },
    async sessionCallModel({
      sessionId,
      turn,
      step,
    }: Input<'sessionCallModel'>): Promise<Result<'sessionCallModel'>> {
      const session = known(sessionId)
      const at = `t${turn}.s${step}`
      const recorded = session.replies.get(at)
      if (recorded !== undefined) return { ...recorded, reading: session.reading() }
      const open = openTurn(session, turn)
      if (open.step < step) {
        open.step = step
        session.log.push(`step ${at}`)
      }
      const joined = [...session.rows.values()].filter(
        (row) => row.delivery === 'next-step' && row.state === 'waiting',
      )
      for (const row of joined) {
        row.state = 'running'
        session.log.push(`joined ${row.requestId} ${at}`)
      }
      const said = await beating(
        () => scriptOf(sessionId).callModel?.({ turn, step, session, prompt: open.requestId }) ?? {},
      )
      if (said === 'needs-compaction')
        return {
          kind: 'needs-compaction',
          reading: session.reading(),
          message: `${session.tokens} tokens do not fit.`,
        }
      const ended = said.calls === undefined && said.compact === undefined ? 'completed' : undefined
      session.log.push(`reply ${at}`)
      if (ended !== undefined) endOf(session, open, ended)
      const reply: Reply = {
        kind: 'reply',
        calls: [],
        ...(joined.length === 0 ? {} : { joined: joined.map((row) => row.requestId) }),
        ...(ended === undefined ? {} : { ended }),
        stopReason: ended === undefined ? 'tool_use' : 'end_turn',
        ...said,
        reading: session.reading(),
      }
      session.replies.set(at, reply)
      return reply
    },
    async sessionRunTool({
      sessionId,
      turn,
      step,
      callId,
    }: Input<'sessionRunTool'>): Promise<Result<'sessionRunTool'>> {
      const session = known(sessionId)
      const key = `t${turn}.s${step}.tool.${callId}`
      if (!session.results.has(key)) {
        openTurn(session, turn)
        await beating(() => scriptOf(sessionId).runTool?.(callId, session))
        openTurn(session, turn)
        session.results.set(key, false)
        session.log.push(`tool ${key}`)
      }
      return { reading: session.reading(), isError: false }
    },
    async sessionLandTool(): Promise<never> {
      throw ApplicationFailure.nonRetryable('No fake tool hands its work out.', 'InvalidInput')
    },
    async sessionEndTurn({
      sessionId,
      turn,
      reason,
      message,
    }: Input<'sessionEndTurn'>): Promise<Result<'sessionEndTurn'>> {
      const session = known(sessionId)
      const found = session.turns.find((each) => each.turn === turn)
      if (found?.end === undefined) endOf(session, openTurn(session, turn), reason, message)
      return { reading: session.reading() }
    },
  }
}

function openTurn(session: FakeSession, turn: number): Turn {
  const open = session.openTurn
  if (open?.turn !== turn) throw ApplicationFailure.nonRetryable(`Turn ${turn} is not open.`, 'TurnClosed')
  return open
}

function endOf(session: FakeSession, turn: Turn, reason: TurnEndReason, message?: string): void {
  if ([...session.attempts.values()].some((attempt) => attempt.state === 'open')) {
    throw ApplicationFailure.nonRetryable('A bracket is open.', 'LogRejected')
  }
  turn.end = reason
  turn.message = message
  const row = session.rows.get(turn.requestId)
  if (row !== undefined) row.state = 'done'
  session.log.push(`turn ${turn.turn} end ${reason}`)
}

function compactionPart(scriptOf: ScriptOf, known: Known) {
  const settle = (
    session: FakeSession,
    requestIds: readonly string[] | undefined,
    outcome: CompactionOutcome,
  ): CompactionOutcome => {
    for (const requestId of requestIds ?? []) {
      const row = session.rows.get(requestId) ?? {
        requestId,
        kind: 'compaction',
        body: '',
        delivery: 'next-turn',
        state: 'waiting',
      }
      if (row.state === 'waiting')
        session.rows.set(requestId, { ...row, state: 'done', note: outcome.outcome })
    }
    return outcome
  }
  return {
    async sessionPrepareCompaction(
      input: Input<'sessionPrepareCompaction'>,
    ): Promise<Result<'sessionPrepareCompaction'>> {
      const session = known(input.sessionId)
      const attempt = session.attempts.get(input.compactionId)
      if (attempt?.outcome !== undefined)
        return { kind: 'done', outcome: settle(session, input.requestIds, attempt.outcome) }
      if (attempt !== undefined) return { kind: 'planned', chunks: 1 }
      const done = await scriptOf(input.sessionId).prepare?.(input, session)
      if (done !== undefined) {
        const outcome = session.outcome(input.compactionId, { outcome: 'nothing', ...done })
        session.attempts.set(input.compactionId, { state: 'void', outcome })
        return { kind: 'done', outcome: settle(session, input.requestIds, outcome) }
      }
      if ([...session.attempts.values()].some((each) => each.state === 'open')) {
        return {
          kind: 'done',
          outcome: session.outcome(input.compactionId, {
            outcome: 'failed',
            error: { code: 'busy', stage: 'prepare', message: 'busy' },
          }),
        }
      }
      session.attempts.set(input.compactionId, { state: 'open' })
      session.log.push(`compact ${input.compactionId} start ${input.cause} turn=${input.turn}`)
      return { kind: 'planned', chunks: 1 }
    },
    async sessionSummarize(input: Input<'sessionSummarize'>): Promise<Result<'sessionSummarize'>> {
      const session = known(input.sessionId)
      const error = await beating(() => scriptOf(input.sessionId).summarize?.(input, session))
      session.log.push(`compact ${input.compactionId} summary`)
      if (error !== undefined) return { kind: 'failed', paid: NOTHING_PAID, error }
      return { kind: 'summarized', paid: { ...NOTHING_PAID, calls: 1 }, deterministic: false }
    },
    async sessionCommitCompaction(input: Input<'sessionCommitCompaction'>): Promise<CompactionOutcome> {
      const session = known(input.sessionId)
      await scriptOf(input.sessionId).commit?.(input, session)
      const attempt = session.attempts.get(input.compactionId)
      if (attempt?.outcome !== undefined) return settle(session, input.requestIds, attempt.outcome)
      const outcome = session.end(input.compactionId, { paid: input.paid })
      return settle(session, input.requestIds, outcome)
    },
    async sessionRunHooks(input: Input<'sessionRunHooks'>): Promise<Result<'sessionRunHooks'>> {
      return { reading: known(input.sessionId).reading() }
    },
    async sessionCloseAttempt(input: Input<'sessionCloseAttempt'>): Promise<CompactionOutcome> {
      const session = known(input.sessionId)
      const attempt = session.attempts.get(input.compactionId)
      if (attempt?.outcome !== undefined)
        return { ...settle(session, input.requestIds, attempt.outcome), reading: session.reading() }
      session.log.push(
        `compact ${input.compactionId} ${attempt === undefined ? 'void' : 'end'} ${input.error.code} ${input.error.message}`,
      )
      const outcome = session.outcome(input.compactionId, { outcome: 'failed', error: input.error })
      session.attempts.set(input.compactionId, { state: attempt === undefined ? 'void' : 'ended', outcome })
      return settle(session, input.requestIds, outcome)
    },
  }
}

const idleTimeoutOf = ({ idleTimeoutMs = 60_000 }: Script): number | null => idleTimeoutMs
