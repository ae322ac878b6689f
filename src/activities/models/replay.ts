import type { ReplayPlan } from '../../formats/replay-plan.ts'
import type { ModelClient } from '../../shared/ports/model.ts'
import type { Tool } from '../../shared/ports/tool.ts'
import { INTERRUPTED_RESULT } from '../../shared/session/repair.ts'
import { type ScriptedModelOptions, scriptedModel } from './scripted.ts'

/**
 * A model that answers what was recorded. Its usage is our count of the requests that are made now, never the recorded one. Summaries were
 * not recorded for these requests: without `summaries` the policy must say `summarizer: 'deterministic'`.
 */
export function replayModel(
  plan: Pick<ReplayPlan, 'replies'>,
  options: ScriptedModelOptions = {},
): ModelClient {
  return scriptedModel(plan.replies, options)
}

/**
 * Tools under the recorded names that return what was recorded for the call's id. A call whose result was never recorded gets the error
 * of an interrupted one.
 */
export function replayTools(plan: Pick<ReplayPlan, 'tools' | 'results'>): Tool[] {
  return plan.tools.map(({ name, description, input_schema }) => ({
    name,
    description,
    input: { jsonSchema: input_schema },
    idempotent: true,
    async run(_input, { callId }) {
      return plan.results.get(callId) ?? { content: INTERRUPTED_RESULT.content, isError: true }
    },
  }))
}
