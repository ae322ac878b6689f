import {
  ApplicationFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  isCancellation,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow'
import {
  problemOf,
  type SessionWorkflowInput,
  sessionIdSchema,
  sessionWorkflowInputSchema,
} from '../shared/protocol.ts'
import { serveAskedCompaction } from './attempt-run.ts'
import { registerCancelHandlers } from './cancel-handlers.ts'
import { registerControlHandlers } from './control-handlers.ts'
import { failureMessage, failureType, sessionFailure } from './failures.ts'
import { serveControls } from './serve-controls.ts'
import { showMemo } from './session-display.ts'
import { isRollOverDue, type SessionEnv, sessionEnv, throwIfCancelled } from './session-env.ts'
import { registerHandlers } from './session-handlers.ts'
import { SessionState } from './session-state.ts'
import { storeInline } from './store-inline.ts'
import { endTurn, runTurn } from './turn-run.ts'
import { setVersioning } from './versioning.ts'

/**
 * One life of a session: takes prompts and requests in order, runs their turns, and completes after its idle time or `close`. Its workflow id is the session id.
 *
 * @throws ApplicationFailure with the name of a `SessionError`, when the session cannot be opened or belongs to another run.
 */
export async function agentSession(input: SessionWorkflowInput): Promise<void> {
  const problem = inputProblem(input)
  const session = new SessionState(
    workflowInfo().workflowId,
    problem === undefined ? input.carried : undefined,
  )
  registerHandlers(session)
  registerCancelHandlers(session)
  registerControlHandlers(session)
  try {
    if (problem !== undefined)
      throw ApplicationFailure.nonRetryable(`agentSession: ${problem}`, 'InvalidInput')
    const env = sessionEnv(input, session)
    const opened = await openSession(env)
    if (opened !== null) await serve(env, opened.openTurn?.requestId)
  } catch (failure) {
    if (!(failure instanceof TemporalFailure) || isCancellation(failure)) throw failure
    session.failure = failureMessage(failure)
    showMemo(session)
    throw sessionFailure(failure)
  }
}

setVersioning(agentSession, 'AUTO_UPGRADE')

/** What a run took over is not judged again: a field of a newer release that was rolled back must not end a session. */
function inputProblem(input: SessionWorkflowInput): string | undefined {
  const problem = problemOf(sessionIdSchema, workflowInfo().workflowId, 'workflowId')
  return (
    problem ??
    (input?.carried === undefined ? problemOf(sessionWorkflowInputSchema, input, 'input') : undefined)
  )
}

/** Makes this run the owner. Null when a message woke a session that is not there or was closed: there is nothing to do. */
async function openSession({ input, session, activities }: SessionEnv) {
  try {
    const opened = await activities.open({
      v: 1,
      sessionId: session.sessionId,
      ...(input.start === undefined ? {} : { start: input.start }),
    })
    session.life = opened.life
    session.idleTimeoutMs = opened.idleTimeoutMs
    session.observe(opened.reading)
    session.prompts.adopt(opened.waiting)
    if (opened.controlsWait) session.controls.adopt()
    return opened
  } catch (failure) {
    const type = failureType(failure)
    if (input.start === undefined && (type === 'SessionNotFound' || type === 'SessionClosed')) return null
    throw failure
  }
}

/** `resume`: the prompt of a turn that an earlier run left open. */
async function serve(env: SessionEnv, resume: string | undefined): Promise<void> {
  try {
    if (resume !== undefined) await runPrompt(env, resume)
    await loop(env)
  } catch (failure) {
    if (env.root.consideredCancelled && isCancellation(failure)) await leaveNothingOpen(env)
    throw failure
  }
}

async function loop(env: SessionEnv): Promise<void> {
  const { session, root } = env
  for (;;) {
    throwIfCancelled(root)
    await storeInline(env)
    await serveControls(env)
    if (isRollOverDue(env)) await rollOver(env)
    else if (session.closing !== null) return close(env, session.closing)
    else if (session.compactions.size > 0) await serveAskedCompaction(env, null)
    else {
      const requestId = session.prompts.next
      if (requestId !== undefined) await runPrompt(env, requestId)
      else if (!session.hasWork && !(await untilWork(env))) return
    }
  }
}

async function runPrompt(env: SessionEnv, requestId: string): Promise<void> {
  const end = await runTurn(env, requestId)
  if (end === 'rolled-over') await rollOver(env)
  if (end !== 'blocked') return
  // A turn is open that this run does not know: a reset dropped its prompt's message. It goes first; this prompt still waits in the inbox.
  const open = (await openSession(env))?.openTurn?.requestId
  if (open === undefined || open === requestId) {
    throw ApplicationFailure.nonRetryable(`The store refuses the turn of prompt ${requestId}.`, 'LogRejected')
  }
  await runPrompt(env, open)
}

/** False after the idle time. */
async function untilWork(env: SessionEnv): Promise<boolean> {
  const { session } = env
  showMemo(session)
  env.hasWorked = true // Messages alone may fill this run's history.
  const hasWork = () => session.hasWork || isRollOverDue(env)
  if (session.idleTimeoutMs === null) await condition(hasWork)
  else return await condition(hasWork, session.idleTimeoutMs)
  return true
}

async function close(
  env: SessionEnv,
  { requestId, reason }: { requestId: string; reason?: string | undefined },
): Promise<void> {
  const { session, activities } = env
  refuseWaiting(session, 'SessionClosed')
  await storeInline(env)
  if (session.controls.hasInline) await serveControls(env) // Came with the close, while others were served.
  const { sessionId } = session
  await activities.close({ v: 1, sessionId, requestId, ...(reason === undefined ? {} : { reason }) })
}

/** The workflow was cancelled: the turn and what waits must not stay open behind it. */
async function leaveNothingOpen(env: SessionEnv): Promise<void> {
  refuseWaiting(env.session, 'Cancelled')
  await storeInline(env)
  if (env.session.controls.hasInline) await serveControls(env)
  await endTurn(env, 'aborted', env.session.turn?.cancelReason)
}

function refuseWaiting(session: SessionState, error: string): void {
  for (const requestId of session.compactions.dropAll())
    session.settlements.push({ requestId, state: 'refused', error })
}

/** Goes on in a new run. Nothing is open here, and no accepted body and no settlement is only here. */
async function rollOver(env: SessionEnv): Promise<never> {
  const { input, session } = env
  do {
    await storeInline(env)
    await serveControls(env)
    await condition(allHandlersFinished)
  } while (session.prompts.hasInline || session.controls.hasInline || session.settlements.length > 0)
  const { v, taskQueues, heartbeatTimeoutMs, rollOver: limits } = input
  return continueAsNew<typeof agentSession>({
    v,
    taskQueues,
    heartbeatTimeoutMs,
    rollOver: limits,
    carried: session.carry(),
  })
}
