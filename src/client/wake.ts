import { WorkflowNotFoundError } from '@temporalio/client'
import { SessionError } from '../shared/errors.ts'
import { type SessionWorkflowInput, type TaskQueues, WORKFLOWS } from '../shared/protocol.ts'
import type { SessionOptions } from './session.ts'

/** Signals a session; one that completed by idleness is woken as a new life. */
export async function sendSignal(options: SessionOptions, signal: string, argument: unknown): Promise<void> {
  try {
    await options.client.workflow.getHandle(options.sessionId).signal(signal, argument)
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error
    await options.client.workflow.signalWithStart(WORKFLOWS.session, {
      ...(await wakeOptions(options)),
      signal,
      signalArgs: [argument],
    })
  }
}

/** Signals a session if it runs; one that does not has nothing to stop. @throws SessionError `SessionNotFound` for one that never was */
export async function signalRunning(
  options: SessionOptions,
  signal: string,
  argument: unknown,
): Promise<void> {
  try {
    await options.client.workflow.getHandle(options.sessionId).signal(signal, argument)
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error
    await lastRun(options)
  }
}

/** How the session's workflow is started again: where it ran before, from its recorded header. */
export async function wakeOptions(options: SessionOptions) {
  const { sessionId } = options
  const last = await lastRun(options)
  const taskQueues = last?.memo?.['taskQueues'] as TaskQueues | undefined
  const input: SessionWorkflowInput = { v: 1, ...(taskQueues === undefined ? {} : { taskQueues }) }
  return {
    workflowId: sessionId,
    taskQueue: last?.taskQueue ?? options.taskQueue,
    args: [input] as [SessionWorkflowInput],
    ...(last?.memo === undefined ? {} : { memo: last.memo }),
  }
}

/** Null when only the store still knows the session. @throws SessionError `SessionNotFound` */
async function lastRun({ client, sessionId, store }: SessionOptions) {
  const last = await client.workflow
    .getHandle(sessionId)
    .describe()
    .catch((error: unknown) => {
      if (error instanceof WorkflowNotFoundError) return null
      throw error
    })
  if (last === null && ((await store?.session(sessionId)) ?? null) === null) {
    throw new SessionError(
      'SessionNotFound',
      `Neither Temporal nor the store knows session ${sessionId}: start it first.`,
    )
  }
  return last
}
