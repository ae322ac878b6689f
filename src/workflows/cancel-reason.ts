import { CancellationScope, getExternalWorkflowHandle, setHandler } from '@temporalio/workflow'
import { z } from 'zod'
import { attemptWorkflowId } from './attempt-child.ts'
import { readSignal, undecodedSignal } from './signal-input.ts'

// Why a compaction is cancelled, from the session to the child that runs it.

const SIGNAL = 'cancelReason'
const reasonSchema = z.object({ reason: z.string() })

/** Resolves when the child has the reason, or is not there. */
export async function tellReason(sessionId: string, compactionId: string, reason: string): Promise<void> {
  const child = getExternalWorkflowHandle(attemptWorkflowId(sessionId, compactionId))
  const told = CancellationScope.nonCancellable(() => child.signal(SIGNAL, { reason }))
  await told.catch(() => undefined)
}

/** @returns the newest reason that this compaction was told */
export function heardReason(): () => string | undefined {
  let heard: string | undefined
  setHandler(undecodedSignal(SIGNAL), (raw) => {
    const input = readSignal(raw, reasonSchema, SIGNAL)
    if ('message' in input) heard = input.message.reason
  })
  return () => heard
}
