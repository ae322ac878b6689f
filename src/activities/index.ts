import type { z } from 'zod'
import { openInputSchema, type SessionActivities } from '../shared/activity-protocol.ts'
import { SessionError } from '../shared/errors.ts'
import {
  appendInputSchema,
  messagesInputSchema,
  type OwnActivities,
  positionInputSchema,
  requestInputSchema,
  syncInputSchema,
} from '../shared/own-protocol.ts'
import { problemOf } from '../shared/protocol.ts'
import { acceptMessages, settleRequests } from './accept.ts'
import { callModel } from './call-model.ts'
import { closeAttempt } from './close-attempt.ts'
import { commitCompaction } from './commit-compaction.ts'
import { serveControls } from './control/serve-controls.ts'
import type { ActivityDeps } from './deps.ts'
import { closeSession, endTurn as endTurnActivity } from './end-turn.ts'
import { toFailure } from './failures.ts'
import { whileBeating } from './heartbeat.ts'
import { hookProblem } from './hooks/check-hooks.ts'
import { landTool } from './land-tool.ts'
import { appendToStep, positionOf } from './own/session-append.ts'
import { requestMessages, surfaceMessages } from './own/session-request.ts'
import { syncMessages } from './own/session-sync.ts'
import { prepareCompaction } from './prepare-compaction.ts'
import { runHooks } from './run-hooks.ts'
import { runTool } from './run-tool.ts'
import { openSession } from './session-open.ts'
import { startTurn as startTurnActivity } from './start-turn.ts'
import { summarize } from './summarize.ts'
import { toolProblem } from './tools/tool-problem.ts'

export type { ActivityDeps, WorkflowRun, WorkflowRuns } from './deps.ts'
export {
  appendMessages,
  type Entry,
  endTurn,
  recordedReply,
  sessionRequest,
  startTurn,
} from './own/own-functions.ts'

/**
 * All session activities over their dependencies, as a worker registers them. Expected failures become typed Temporal failures.
 *
 * @throws SessionError `InvalidInput` for tools that no model can be given, and for hooks that do not exist
 */
export function createSessionActivities(deps: ActivityDeps): SessionActivities & OwnActivities {
  const problem = toolProblem(deps.tools) ?? hookProblem(deps.hooks)
  if (problem !== undefined) throw new SessionError('InvalidInput', problem)
  return {
    sessionOpen: activity(deps, openChecked),
    sessionAccept: activity(deps, acceptMessages),
    sessionSettle: activity(deps, settleRequests),
    sessionControl: activity(deps, serveControls),
    sessionStartTurn: activity(deps, startTurnActivity),
    sessionCallModel: activity(deps, callModel),
    sessionRunTool: activity(deps, runTool),
    sessionLandTool: activity(deps, landTool),
    sessionEndTurn: activity(deps, endTurnActivity),
    sessionClose: activity(deps, closeSession),
    sessionPrepareCompaction: activity(deps, prepareCompaction),
    sessionSummarize: activity(deps, summarize),
    sessionCommitCompaction: activity(deps, commitCompaction),
    sessionRunHooks: activity(deps, runHooks),
    sessionCloseAttempt: activity(deps, closeAttempt),
    sessionAppend: activity(deps, checked(appendInputSchema, appendToStep)),
    sessionRequest: activity(deps, checked(requestInputSchema, requestMessages)),
    sessionPosition: activity(deps, checked(positionInputSchema, positionOf)),
    sessionMessages: activity(deps, checked(messagesInputSchema, surfaceMessages)),
    sessionSync: activity(deps, checked(syncInputSchema, syncMessages)),
  }
}

function activity<I, O>(
  deps: ActivityDeps,
  run: (deps: ActivityDeps, input: I) => Promise<O>,
): (input: I) => Promise<O> {
  return async (input) => {
    try {
      return await whileBeating(() => run(deps, input))
    } catch (error) {
      throw toFailure(error)
    }
  }
}

type Run<I, O> = (deps: ActivityDeps, input: I) => Promise<O>

/** What a workflow of a user or of another language sends is judged here; our own workflows judge theirs before. */
function checked<S extends z.ZodType, O>(schema: S, run: Run<z.infer<S>, O>): Run<z.infer<S>, O> {
  return async (deps, input) => {
    const problem = problemOf(schema, input, 'input')
    if (problem !== undefined) throw new SessionError('InvalidInput', problem)
    return run(deps, input)
  }
}

const openChecked: Run<
  z.infer<typeof openInputSchema>,
  Awaited<ReturnType<SessionActivities['sessionOpen']>>
> = (deps, input) =>
  (input?.header === undefined ? openSession : checked(openInputSchema, openSession))(deps, input)
