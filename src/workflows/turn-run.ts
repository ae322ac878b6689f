import { CancellationScope, isCancellation, TemporalFailure } from '@temporalio/workflow'
import type { TurnEndReason } from '../shared/session/events.ts'
import { runAttempt, serveAskedCompaction } from './attempt-run.ts'
import { failureMessage, failureType } from './failures.ts'
import { serveControls } from './serve-controls.ts'
import { showDetails, showMemo } from './session-display.ts'
import { isRollOverDue, type SessionEnv, throwIfCancelled } from './session-env.ts'
import type { RunningTurn } from './session-state.ts'
import { storeInline } from './store-inline.ts'
import { runToolWork } from './tool-work.ts'
import { runSteps, type StartedTurn, type TurnPorts } from './turn-steps.ts'

// One turn, from its start in the store to its end there. A turn that fails or is cancelled does not end the session.

type Started = StartedTurn & { readonly status: 'new' | 'resumed' | 'ended' }

/** `rolled-over`: the turn stays open, and the next run goes on with it. `blocked`: another turn is open. */
export async function runTurn(
  env: SessionEnv,
  requestId: string,
): Promise<'ended' | 'rolled-over' | 'blocked'> {
  const { session } = env
  const scope = new CancellationScope({ cancellable: true, parent: env.root })
  const running: RunningTurn = { requestId, number: null, step: null, cancel: () => scope.cancel() }
  session.turn = running
  session.prompts.begin(requestId)
  const started = await startTurn(env, requestId)
  if (started === 'nothing' || started === 'blocked') {
    ended(env)
    return started === 'blocked' ? 'blocked' : 'ended'
  }
  running.number = started.turn
  showMemo(session)
  if (running.earlyCancel?.turn === started.turn) session.stopTurn(running.earlyCancel.reason)
  try {
    const end = await scope.run(() => runSteps(turnPorts(env, scope, started), started))
    return end === 'ended' ? ended(env) : end
  } catch (failure) {
    if (!(failure instanceof TemporalFailure) || failureType(failure) === 'Fenced') throw failure
    if (isCancellation(failure)) await endTurn(env, 'aborted', running.cancelReason)
    else await endTurn(env, 'error', failureMessage(failure), failureType(failure))
    return ended(env)
  }
}

function ended(env: SessionEnv): 'ended' {
  env.session.turn = null
  env.session.prompts.end()
  env.hasWorked = true
  return 'ended'
}

/** Ends the open turn in the store, which answers the calls that nobody answered. */
export async function endTurn(
  { session, activities }: SessionEnv,
  reason: TurnEndReason,
  message: string | undefined,
  code?: string,
): Promise<void> {
  const turn = session.turn?.number
  if (turn === undefined || turn === null) return
  const input = {
    v: 1,
    sessionId: session.sessionId,
    turn,
    reason,
    ...(message === undefined ? {} : { message }),
    ...(code === undefined ? {} : { code }),
  } as const
  const { reading } = await CancellationScope.nonCancellable(() => activities.endTurn(input))
  session.observe(reading)
}

/**
 * Opens the prompt's turn, or finds it open. `nothing` to run: it has ended, or the prompt cannot be one. Not cancellable, so that a turn
 * which the store opened is always ended there.
 */
async function startTurn(
  { session, activities }: SessionEnv,
  requestId: string,
): Promise<Started | 'nothing' | 'blocked'> {
  try {
    const { sessionId } = session
    const started = await CancellationScope.nonCancellable(() =>
      activities.startTurn({ v: 1, sessionId, requestId }),
    )
    session.observe(started.reading)
    return started.status === 'ended' ? 'nothing' : started
  } catch (failure) {
    const type = failureType(failure)
    if (type === 'LogRejected') return 'blocked'
    if (type !== 'InvalidInput' && type !== 'KeyConflict') throw failure
    session.refused++
    session.settlements.push({ requestId, state: 'refused', error: `${type}: ${failureMessage(failure)}` })
    return 'nothing'
  }
}

function turnPorts(env: SessionEnv, scope: CancellationScope, started: Started): TurnPorts {
  const { session, activities } = env
  const { turn, step: first, status } = started
  // The first step of a resumed turn may be one that an earlier run has done: going through it again is no progress.
  const freshStep = status === 'resumed' ? first + 1 : first
  const at = (step: number) => ({ v: 1, sessionId: session.sessionId, turn, step }) as const
  return {
    async boundary(step) {
      if (session.turn !== null) session.turn.step = step
      throwIfCancelled(scope)
      if (step > freshStep) env.hasWorked = true
      await storeInline(env)
      const served = await serveControls(env)
      if (served !== null) {
        started.compactionRetries = served.compactionRetries
        started.maxOverflowRetries = served.maxOverflowRetries
      }
      for (let asked = session.compactions.size; asked > 0; asked--) {
        await serveAskedCompaction(env, turn)
        throwIfCancelled(scope)
      }
      showDetails(session)
      return isRollOverDue(env) ? 'roll-over' : 'go-on'
    },
    async callModel(step, shortReply) {
      const result = await activities.callModel({ ...at(step), ...(shortReply ? { shortReply } : {}) })
      session.observe(result.reading)
      if (result.kind === 'reply') for (const joined of result.joined ?? []) session.prompts.drop(joined)
      return result
    },
    async runTool(step, call) {
      const input = { ...at(step), callId: call.callId }
      const { reading, work } = await activities.runTool(input, call)
      session.observe(reading)
      if (work === undefined) return
      const end = await runToolWork(work)
      // What was done is said, also in a turn that was cancelled meanwhile.
      const landed = await CancellationScope.nonCancellable(() => activities.landTool({ ...input, end }))
      session.observe(landed.reading)
    },
    async compact(compaction) {
      const outcome = await runAttempt(env, scope, { ...compaction, turn })
      throwIfCancelled(scope)
      return outcome
    },
    newestReading: () => session.reading,
  }
}
