import type { SessionActivities } from '../shared/activity-protocol.ts'
import { SessionError } from '../shared/errors.ts'
import { acceptMessages, settleRequests } from './accept.ts'
import { callModel } from './call-model.ts'
import { closeAttempt } from './close-attempt.ts'
import { commitCompaction } from './commit-compaction.ts'
import { serveControls } from './control/serve-controls.ts'
import type { ActivityDeps } from './deps.ts'
import { closeSession, endTurn } from './end-turn.ts'
import { toFailure } from './failures.ts'
import { whileBeating } from './heartbeat.ts'
import { hookProblem } from './hooks/check-hooks.ts'
import { prepareCompaction } from './prepare-compaction.ts'
import { runHooks } from './run-hooks.ts'
import { runTool } from './run-tool.ts'
import { openSession } from './session-open.ts'
import { startTurn } from './start-turn.ts'
import { summarize } from './summarize.ts'
import { toolProblem } from './tools/tool-problem.ts'

export type { ActivityDeps, WorkflowRun, WorkflowRuns } from './deps.ts'

/**
 * All session activities over their dependencies, as a worker registers them. Expected failures become typed Temporal failures.
 *
 * @throws SessionError `InvalidInput` for tools that no model can be given, and for hooks that do not exist
 */
export function createSessionActivities(deps: ActivityDeps): SessionActivities {
  const problem = toolProblem(deps.tools) ?? hookProblem(deps.hooks)
  if (problem !== undefined) throw new SessionError('InvalidInput', problem)
  return {
    sessionOpen: activity(deps, openSession),
    sessionAccept: activity(deps, acceptMessages),
    sessionSettle: activity(deps, settleRequests),
    sessionControl: activity(deps, serveControls),
    sessionStartTurn: activity(deps, startTurn),
    sessionCallModel: activity(deps, callModel),
    sessionRunTool: activity(deps, runTool),
    sessionEndTurn: activity(deps, endTurn),
    sessionClose: activity(deps, closeSession),
    sessionPrepareCompaction: activity(deps, prepareCompaction),
    sessionSummarize: activity(deps, summarize),
    sessionCommitCompaction: activity(deps, commitCompaction),
    sessionRunHooks: activity(deps, runHooks),
    sessionCloseAttempt: activity(deps, closeAttempt),
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
