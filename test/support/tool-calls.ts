import type { Session } from '../../src/client/index.ts'
import type { ModelClient, ModelRequest } from '../../src/shared/ports/model.ts'
import { type ContentBlock, isText } from '../../src/shared/session/content.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { ofType } from './of-type.ts'
import type { RealSessions } from './real-sessions.ts'

// A model that calls what the prompt says, and what came of it.

const MARK = 'CALL '

/** The prompt that makes {@link callingModel} call these tools, all in one step; ids are c0, c1, … */
export const callsOf = (calls: readonly (readonly [name: string, input: object])[]): string =>
  MARK + JSON.stringify(calls)

export interface CallingModel extends ModelClient {
  /** What a session has sent so far. */
  requests(sessionId: string): readonly ModelRequest[]
}

export function callingModel(): CallingModel {
  const sent = new Map<string, ModelRequest[]>()
  const model = scriptedModel(
    ({ messages }) => {
      const asked = messages.at(-1)?.content.at(-1)
      if (asked === undefined || !isText(asked) || !asked.text.startsWith(MARK)) return 'Done.'
      const calls = JSON.parse(asked.text.slice(MARK.length)) as [string, object][]
      return { content: calls.map(([name, input], n) => ({ type: 'tool_use', id: `c${n}`, name, input })) }
    },
    { capacity: { contextWindow: 64_000, maxOutputTokens: 4_000 } },
  )
  return {
    ...model,
    requests: (sessionId) => sent.get(sessionId) ?? [],
    async generate(request, context) {
      const problems = requestProblems(request.messages)
      if (problems.length > 0) throw new Error(`invalid request: ${problems.join('; ')}`)
      sent.set(request.sessionId, [...(sent.get(request.sessionId) ?? []), request])
      return model.generate(request, context)
    },
  }
}

export interface CallResult {
  readonly callId: string
  readonly content: readonly ContentBlock[]
  readonly text: string
  readonly isError: boolean
}

/** The results of a session's calls, in the order of one step's calls. */
export async function resultsOf(real: RealSessions, session: Session): Promise<CallResult[]> {
  const results = ofType(await real.log(session), 'tool/result')
  results.sort((a, b) => Number(a.data.callId.slice(1)) - Number(b.data.callId.slice(1)))
  return results.map(({ data: { callId, content, isError } }) => {
    const said = content.filter(isText).map(({ text }) => text)
    return { callId, content, isError, text: said.join('\n') }
  })
}
