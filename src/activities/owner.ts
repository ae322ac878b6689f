import { Context } from '@temporalio/activity'
import { isSessionError, SessionError } from '../shared/errors.ts'
import type { Actor, SessionRow } from '../shared/ports/store.ts'
import type { ActivityDeps, WorkflowRun } from './deps.ts'

/** Takeovers that lost a race ask the server again; more than this means that two runs fight for the session. */
const MAX_TAKEOVERS = 5

/** The run of the calling activity's own workflow: taken from the server's task, never from an input. */
export function callingRun(): Actor {
  const execution = Context.current().info.workflowExecution
  if (execution === undefined) {
    throw new SessionError(
      'Fenced',
      'A session activity was started without a workflow: start it from one, so that its run can own the session.',
    )
  }
  return execution
}

/**
 * Runs one store write as `actor`. When the actor does not own the session, the server decides: if the
 * actor's run is the current one of its workflow and running, it takes over and the write runs again.
 *
 * @throws SessionError `Fenced` when it is not the current run; `SessionOwned` when another workflow that is open owns the session.
 */
export async function asOwner<T>(
  deps: ActivityDeps,
  sessionId: string,
  actor: Actor,
  write: (actor: Actor) => Promise<T>,
): Promise<T> {
  for (let takeovers = 0; ; takeovers++) {
    try {
      return await write(actor)
    } catch (error) {
      if (!isSessionError(error, 'NotOwner') || takeovers >= MAX_TAKEOVERS) throw error
      await takeOver(deps, sessionId, actor)
    }
  }
}

/** Makes the actor the owner, or throws. The fence is read before the server is asked, so that a rival's takeover is seen. */
export async function takeOver(deps: ActivityDeps, sessionId: string, actor: Actor): Promise<SessionRow> {
  for (let tries = 0; tries <= MAX_TAKEOVERS; tries++) {
    const session = await deps.store.session(sessionId)
    if (session === null) throw unknownSession(sessionId)
    const run = await currentRun(deps, actor)
    await refuseForeignOwner(deps, session, actor)
    try {
      return await deps.store.takeOver({
        sessionId,
        actor,
        lifeRunId: run.firstRunId,
        expectedFence: session.fence,
      })
    } catch (error) {
      if (!isSessionError(error, 'HeadMoved')) throw error
    }
  }
  throw new SessionError(
    'NotOwner',
    `Session ${sessionId} changed its owner ${MAX_TAKEOVERS} times while run ${actor.runId} asked the server.`,
  )
}

/** @throws SessionError `Fenced` unless the actor's run is the current one and running. */
export async function currentRun(deps: ActivityDeps, actor: Actor): Promise<WorkflowRun> {
  const run = await deps.runs.describe(actor.workflowId)
  if (run === null || run.runId !== actor.runId || !run.running) {
    const found =
      run === null
        ? 'the server does not know it'
        : `the current run is ${run.runId}${run.running ? '' : ', closed'}`
    throw new SessionError(
      'Fenced',
      `Run ${actor.runId} of workflow ${actor.workflowId} may not write: ${found}.`,
    )
  }
  return run
}

async function refuseForeignOwner(deps: ActivityDeps, session: SessionRow, actor: Actor): Promise<void> {
  if (session.owner.workflowId === actor.workflowId) return
  const owner = await deps.runs.describe(session.owner.workflowId)
  if (owner?.running) {
    throw new SessionError(
      'SessionOwned',
      `Session ${session.sessionId} belongs to workflow ${session.owner.workflowId}, which is still open: close it, or use another session id than from workflow ${actor.workflowId}.`,
    )
  }
}

export function unknownSession(sessionId: string): SessionError {
  return new SessionError('SessionNotFound', `Session ${sessionId} is not in the store: start it first.`)
}
