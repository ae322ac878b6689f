import assert from 'node:assert/strict'
import { ApplicationFailure } from '@temporalio/common'
import type { ModelClient } from '../../src/shared/ports/model.ts'
import { type ActivityStage, openStage, RUN_1 } from './activity-stage.ts'
import { isHeld } from './provider-faults/retrying-stage.ts'

// Many sessions of one worker whose provider is away for a while: real activities and stores, tried again as Temporal does it, on a clock of their own.

const LONGEST_PAUSE_MS = 30_000
const ATTEMPTS = 30

export interface WaitingSession {
  /** When it is tried next, on the outage's clock. */
  dueAt: number
  attempts: number
  /** Of them, those that the circuit held back. */
  held: number
  /** Undefined: not yet. */
  answeredAt?: number
}

export interface Outage {
  /** Milliseconds since the first session asked. */
  readonly now: () => number
  /** @param model of the sessions, by name */
  addSessions(count: number, client: ModelClient, model?: string): Promise<WaitingSession[]>
  /** Milliseconds since 1970, for stages beside those of the outage. */
  readonly machineNow: () => number
  /** An attempt of this session, now. */
  tryNow(session: WaitingSession): Promise<void>
  /** Lets time pass until nobody is due before `until`. */
  passUntil(until: number): Promise<void>
  close(): Promise<void>
}

export function openOutage(): Outage {
  const start = Date.now()
  let now = 0
  const stages = new Map<WaitingSession, { stage: ActivityStage; beats: object }>()
  const attempt = async (session: WaitingSession) => {
    const { stage, beats } = stages.get(session) as { stage: ActivityStage; beats: object }
    session.attempts++
    try {
      await stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 1 }, session.attempts, now, beats)
      session.answeredAt = now
      session.dueAt = Number.POSITIVE_INFINITY
    } catch (error) {
      assert.ok(error instanceof ApplicationFailure, String(error))
      assert.ok(error.nonRetryable !== true && session.attempts < ATTEMPTS, `ended: ${error.message}`)
      if (isHeld(error)) session.held++
      session.dueAt = now + pauseAfter(error, session.attempts)
    }
  }
  return {
    now: () => now,
    machineNow: () => start + now,
    tryNow: attempt,
    async addSessions(count, client, model = 'x') {
      const added: WaitingSession[] = []
      for (let n = 0; n < count; n++) {
        const stage = await openStage({ model: client, name: model, clock: () => start + now })
        await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'p1', message: 'Go.' })
        const session: WaitingSession = { dueAt: now, attempts: 0, held: 0 }
        stages.set(session, { stage, beats: {} })
        added.push(session)
      }
      return added
    },
    async passUntil(until) {
      for (;;) {
        const next = Math.min(...[...stages.keys()].map(({ dueAt }) => dueAt))
        if (next >= until) break
        now = next
        await Promise.all([...stages.keys()].filter(({ dueAt }) => dueAt === next).map(attempt))
      }
      now = until
    },
    close: async () => void (await Promise.all([...stages.values()].map(({ stage }) => stage.store.close()))),
  }
}

const pauseAfter = ({ nextRetryDelay }: ApplicationFailure, attempt: number): number =>
  nextRetryDelay === undefined || nextRetryDelay === null
    ? Math.min(1_000 * 2 ** (attempt - 1), LONGEST_PAUSE_MS)
    : Number(nextRetryDelay)
