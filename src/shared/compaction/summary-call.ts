import { ContextOverflowError, type ModelReply, type ModelRequest } from '../ports/model.ts'
import { type Summary, SummaryFailed } from '../ports/summarizer.ts'
import { type ContentBlock, type Message, text } from '../session/content.ts'
import { utf8Bytes } from '../session/prompt-content.ts'
import { judgeSummary, summaryText } from './gate.ts'
import { holdsMedia } from './media.ts'
import { labelMedia } from './message-parts.ts'
import { headTokens, messagesTokens } from './message-size.ts'
import { correctiveInstruction } from './prompt.ts'
import { withInstruction } from './summary-request.ts'
import { fits, type RequestHead, type SummaryRun } from './summary-run.ts'

export interface SummaryAsk {
  /** Index of the call; its corrective retry has the next one. */
  readonly index: number
  readonly purpose: 'chunk' | 'merge' | 'summary'
  readonly head: RequestHead
  readonly messages: readonly Message[]
  readonly instruction: readonly ContentBlock[]
  readonly askTokens: number
  readonly limitTokens: number
  /** Infinity: the answer need not be smaller than what it stands for. */
  readonly spanTokens: number
}

export interface SummaryAnswer {
  readonly text: string
  readonly reply: ModelReply
}

/**
 * Asks once, and once more with the reason when the gate refuses. Returns `overflow` when the request does not fit, found out by
 * estimate (nothing is sent) or by the provider's refusal.
 *
 * @throws SummaryFailed when the second answer is refused too, or the model declines
 */
export async function askForSummary(run: SummaryRun, ask: SummaryAsk): Promise<SummaryAnswer | 'overflow'> {
  const first = await sendOnce(run, ask, ask.index, ask.purpose, ask.instruction)
  if (first === 'overflow' || first.accepted) return first
  // A model that declines does so for what it read, which a second request would only repeat.
  if (first.refusedBecause === 'refusal') throw refusedAnswer(first)
  const again = [...ask.instruction, correctiveInstruction(first.refusedBecause, ask.askTokens)]
  const second = await sendOnce(run, ask, ask.index + 1, 'retry', again)
  if (second === 'overflow' || second.accepted) return second
  throw refusedAnswer(second)
}

type Sent =
  | ({ readonly accepted: true } & SummaryAnswer)
  | {
      readonly accepted: false
      readonly refusedBecause: NonNullable<ReturnType<typeof judgeSummary>>
      readonly stopReason: string
    }

async function sendOnce(
  run: SummaryRun,
  ask: SummaryAsk,
  index: number,
  purpose: SummaryAsk['purpose'] | 'retry',
  instruction: readonly ContentBlock[],
): Promise<Sent | 'overflow'> {
  run.signal.throwIfAborted()
  const { input } = run
  const judge = (reply: ModelReply) =>
    judgeSummary(reply, {
      limitTokens: ask.limitTokens,
      spanTokens: ask.spanTokens,
      countTokens: input.countTokens,
    })
  const request: ModelRequest = {
    ...input.request,
    ...ask.head,
    sampling: samplingFor(input.request.sampling, ask.head.tools.length > 0),
    messages: withInstruction(run.refused.media ? labelMedia(ask.messages) : ask.messages, instruction),
    maxTokens: run.maxTokens,
    purpose: 'summary',
    index,
  }
  const tokens = headTokens(request, input) + messagesTokens(request.messages, input)
  if (!fits(run, tokens)) return 'overflow'
  const withLabels = () => {
    run.refused.media = true
    return sendOnce(run, ask, index, purpose, instruction)
  }
  const mayLabel = !run.refused.media && holdsMedia(request.messages)
  if (bytesOf(request) > run.maxRequestBytes) return mayLabel ? withLabels() : 'overflow'
  try {
    const { reply, accepted, refusedBecause } = await run.paid.call(index, { purpose, request, judge })
    if (accepted) return { accepted, text: summaryText(reply), reply }
    return {
      accepted,
      refusedBecause: refusedBecause ?? judge(reply) ?? 'truncated',
      stopReason: reply.stopReason,
    }
  } catch (error) {
    if (mayLabel && isAboutMedia(error)) return withLabels()
    if (!isOverflow(error)) throw error
    run.refused.tokens = Math.min(run.refused.tokens, tokens)
    return 'overflow'
  }
}

const bytesOf = ({ system, tools, messages }: ModelRequest): number =>
  utf8Bytes(JSON.stringify([system, tools, messages]))

/** The session's own settings, but no forced tool call, and no choice of a tool where there is none. */
function samplingFor(sampling: ModelRequest['sampling'], hasTools: boolean): ModelRequest['sampling'] {
  const { tool_choice: choice, ...rest } = sampling
  const forced =
    typeof choice === 'object' &&
    choice !== null &&
    'type' in choice &&
    (choice.type === 'any' || choice.type === 'tool')
  return hasTools && !forced ? sampling : rest
}

/** A label is all that a summary needs of an image that makes its request impossible. By name: the error may come from another copy of the module. */
const isAboutMedia = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'RefusedMediaError' ||
    (error as Partial<ContextOverflowError>).named?.tooManyBytes === true)

/** By name too: the error may come from another copy of the module. */
const isOverflow = (error: unknown): boolean =>
  error instanceof ContextOverflowError ||
  (error instanceof Error && (error.name === 'ContextOverflowError' || error.name === 'ContextOverflow'))

function refusedAnswer({ refusedBecause, stopReason }: Extract<Sent, { accepted: false }>): SummaryFailed {
  return new SummaryFailed(
    refusedBecause,
    `No summary was accepted: the last answer was refused as ${refusedBecause} (stop reason ${stopReason}). The session is unchanged; compact again, or set policy.summaryFallback to "always".`,
  )
}

/** A summary whose text is not the output of one call. */
export function summaryOf(run: SummaryRun, { text: summary, reply }: SummaryAnswer): Summary {
  const { provider, model } = run.input.request
  return { summary: [text(summary)], provider, model: reply.model ?? model, maxTokens: run.maxTokens }
}

export function oneCallSummary(run: SummaryRun, answer: SummaryAnswer): Summary {
  const { content, usage } = answer.reply
  return {
    ...summaryOf(run, answer),
    rawOutput: content,
    llmStreamCall: true,
    ...(usage === null ? {} : { usage }),
  }
}
