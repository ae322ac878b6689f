import type { ModelClient, ModelRequest } from '../../shared/ports/model.ts'
import { requestProblems } from '../../shared/session/request-check.ts'
import { priceContent, priceOverhead } from '../../shared/tokens/price.ts'

/** What was seen of the requests that a model got. */
export interface RequestRecord {
  requests: number
  summaries: number
  /** Input tokens by our counter, plus `max_tokens`, of the largest request. */
  largest: number
  /** One sentence per problem, at most 20. */
  readonly problems: string[]
}

const MAX_PROBLEMS = 20

/** The model, with every request checked against the rules of the Anthropic API by a checker that shares no code with what builds it. */
export function checkedModel(model: ModelClient, record: RequestRecord): ModelClient {
  return {
    ...model,
    async generate(request, context) {
      note(request, record)
      return model.generate(request, context)
    },
  }
}

function note(request: ModelRequest, record: RequestRecord): void {
  const found = requestProblems(request.messages)
  for (const problem of found.slice(0, MAX_PROBLEMS - record.problems.length)) {
    record.problems.push(`${request.purpose} ${request.index}: ${problem}`)
  }
  record.requests += request.purpose === 'turn' ? 1 : 0
  record.summaries += request.purpose === 'summary' ? 1 : 0
  record.largest = Math.max(record.largest, inputTokens(request) + request.maxTokens)
}

const inputTokens = (request: ModelRequest): number =>
  request.messages.reduce((sum, { content }) => sum + priceContent(content), priceOverhead(request))
