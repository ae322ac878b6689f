import { SessionError } from '../errors.ts'
import type { ModelClient } from '../ports/model.ts'
import { type Summarizer, type Summary, SummaryFailed } from '../ports/summarizer.ts'
import { summaryInstruction } from './prompt.ts'
import { askForSummary, oneCallSummary } from './summary-call.ts'
import { summarizeInParts } from './summary-parts.ts'
import { describeLast } from './summary-request.ts'
import { CALL_INDEX, headFor, type SummaryRun, startRun } from './summary-run.ts'

/**
 * Summaries by a model: the client of `request.provider` is asked for `request.model`. In this order, each only when the one
 * before does not fit: the session's last request with the instruction behind it (the provider's cache hits), the span alone,
 * the span in parts with a merge.
 *
 * A call has the same index in every run of an attempt, so that a crash resumes after the last stored one. Cost: one call, as a rule.
 *
 * @throws SummaryFailed when no answer is accepted; `overflow` when no part is small enough
 * @throws SessionError `UnknownModel`
 */
export function modelSummarizer(models: Readonly<Record<string, ModelClient>>): Summarizer {
  return {
    async summarize(input, context) {
      if (input.span.length === 0)
        throw new SummaryFailed('failed', 'The span is empty: there is nothing to summarize.')
      const run = await startRun(clientOf(models, input.request.provider), input, context)
      return (await inOneCall(run)) ?? (await summarizeInParts(run))
    },
  }
}

function clientOf(models: Readonly<Record<string, ModelClient>>, provider: string): ModelClient {
  const client = models[provider]
  if (client !== undefined) return client
  const known = Object.keys(models).join(', ') || 'none'
  throw new SessionError(
    'UnknownModel',
    `The summarizer's provider ${JSON.stringify(provider)} is not among this worker's: ${known}.`,
  )
}

/** The whole conversation, else the span alone; null when neither fits. */
async function inOneCall(run: SummaryRun): Promise<Summary | null> {
  const { request, span, focus, lastSeq, askTokens, limitTokens, spanTokens } = run.input
  const lastEvent = describeLast(span)
  const instruction = summaryInstruction({
    lastSeq,
    askTokens,
    ...(focus === undefined ? {} : { focus }),
    ...(lastEvent === undefined ? {} : { lastEvent }),
  })
  const forms = [
    {
      index: CALL_INDEX.whole,
      head: { system: request.system, tools: request.tools },
      messages: request.messages,
    },
    { index: CALL_INDEX.span, head: headFor(run, span), messages: span },
  ]
  for (const form of forms) {
    const answer = await askForSummary(run, {
      ...form,
      purpose: 'summary',
      instruction,
      askTokens,
      limitTokens,
      spanTokens,
    })
    if (answer !== 'overflow') return oneCallSummary(run, answer)
  }
  return null
}
