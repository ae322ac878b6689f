import { ApplicationFailure, setHandler } from '@temporalio/workflow'
import type { z } from 'zod'
import {
  type CancelCompaction,
  type CancelReceipt,
  type CancelTurn,
  cancelCompactionSchema,
  cancelTurnSchema,
  problemOf,
  SIGNALS,
} from '../shared/protocol.ts'
import { cancelCompactionUpdate, cancelTurnUpdate } from './messages.ts'
import { onSignal } from './session-handlers.ts'
import type { SessionState } from './session-state.ts'

// Cancels, by signal and by update, which answers what it has stopped. As every handler: synchronous.

export function registerCancelHandlers(session: SessionState): void {
  onSignal(session, SIGNALS.cancelTurn, cancelTurnSchema, (message) => {
    cancelTurn(session, message)
    return undefined
  })
  onSignal(session, SIGNALS.cancelCompaction, cancelCompactionSchema, (message) => {
    cancelCompaction(session, message)
    return undefined
  })
  setHandler(cancelTurnUpdate, counted(session, cancelTurn), {
    validator: valid(cancelTurnSchema, 'cancelTurn'),
  })
  setHandler(cancelCompactionUpdate, counted(session, cancelCompaction), {
    validator: valid(cancelCompactionSchema, 'cancelCompaction'),
  })
}

const counted =
  <T>(session: SessionState, cancel: (session: SessionState, message: T) => CancelReceipt) =>
  (message: T): CancelReceipt => {
    session.messages++
    return cancel(session, message)
  }

const valid =
  <T>(schema: z.ZodType<T>, what: string) =>
  (message: T): void => {
    const problem = problemOf(schema, message, what)
    if (problem !== undefined) throw ApplicationFailure.nonRetryable(problem, 'InvalidInput')
  }

function cancelTurn(
  session: SessionState,
  { turn, requestId, waitingOnly, reason }: CancelTurn,
): CancelReceipt {
  const running = session.turn
  if (requestId !== undefined && (waitingOnly || running?.requestId !== requestId)) {
    const dropped = session.prompts.drop(requestId)
    if (dropped === 'stored') {
      session.settlements.push({ requestId, state: 'refused', error: cancelledNote(reason) })
    }
    return receipt(session, dropped === 'absent' ? 'nothing' : 'prompt')
  }
  if (running === null) return receipt(session, 'nothing')
  if (turn !== undefined && running.number === null) {
    running.earlyCancel = { turn, reason }
    return receipt(session, 'starting')
  }
  if (turn !== undefined && turn !== running.number) return receipt(session, 'nothing')
  session.stopTurn(reason)
  return receipt(session, 'turn')
}

function cancelCompaction(session: SessionState, { requestId, reason }: CancelCompaction): CancelReceipt {
  const result = session.compactions.withdraw(requestId)
  if (result === 'absent') return receipt(session, 'nothing')
  if (result === 'withdrawn') {
    session.settlements.push({ requestId, state: 'refused', error: cancelledNote(reason) })
    return receipt(session, 'request')
  }
  if (session.attempt === null) return receipt(session, 'request')
  session.attempt.cancelReason = reason
  session.attempt.cancel()
  return receipt(session, 'compaction')
}

function receipt(session: SessionState, stopped: CancelReceipt['stopped']): CancelReceipt {
  const turn = session.turn?.number ?? null
  const compactionId = session.attempt?.compactionId ?? null
  const endsTurn = stopped === 'turn'
  const endsCompaction =
    stopped === 'compaction' || (endsTurn && session.attempt !== null && session.compactions.running === null)
  return {
    stopped,
    turn: endsTurn ? turn : null,
    compactionId: endsCompaction ? compactionId : null,
    goesOn: { turn: endsTurn ? null : turn, compactionId: endsCompaction ? null : compactionId },
  }
}

const cancelledNote = (reason: string | undefined): string =>
  reason === undefined ? 'Cancelled' : `Cancelled: ${reason}`
