import { z } from 'zod'
import { isCheckpointNode } from '../shared/compaction/checkpoint-node.ts'
import { mediaIn } from '../shared/compaction/media.ts'
import { isSessionError } from '../shared/errors.ts'
import type { SessionRow } from '../shared/ports/store.ts'
import {
  type AnswerLimit,
  HITS_PER_ANSWER,
  NOTHING_FOUND,
  renderHits,
  renderPart,
} from '../shared/recall/answers.ts'
import { isRecalled, type Recalled } from '../shared/recall/event-text.ts'
import { HISTORY_TOOL, QUERY_MAX_CHARS } from '../shared/recall/history-tool.ts'
import { type ContentBlock, type ToolUseBlock, text } from '../shared/session/content.ts'
import type { SessionEvent } from '../shared/session/events.ts'
import { headOf } from '../shared/session/well-formed.ts'
import { priceContent } from '../shared/tokens/price.ts'
import type { ActivityDeps } from './deps.ts'
import { type ExecutedCall, errorResult } from './execute-tool.ts'

/** Tokens of one answer, by our counter. */
export const HISTORY_ANSWER_TOKENS = 2_000
/** So that a citation and some words have room under the smallest intake limit. */
const LEAST_ANSWER_TOKENS = 150

const inputSchema = z.object({
  query: z.string().nullish(),
  seq: z.int().nonnegative().nullish(),
  from: z.int().nonnegative().nullish(),
})

/**
 * The answer to a call of the `history` tool, from the store alone; at most {@link HISTORY_ANSWER_TOKENS}, and within the intake limit of the session.
 * What cannot be answered is an error result that says what can. Cost: one event, or for a query the bodies of what left the surface until ten hits are found.
 *
 * @throws SessionError of the store, but for an erased body
 */
export async function answerHistory(
  { store }: Pick<ActivityDeps, 'store'>,
  session: SessionRow,
  { input }: Pick<ToolUseBlock, 'input'>,
): Promise<ExecutedCall> {
  const asked = inputSchema.safeParse(input)
  const { query, seq, from } = asked.success ? asked.data : {}
  const start = from ?? 0
  const limit = limitOf(session)
  if (typeof query === 'string' && typeof seq !== 'number')
    return answerQuery(store, session, query, start, limit)
  if (typeof seq === 'number' && typeof query !== 'string')
    return answerSeq(store, session, seq, start, limit)
  return errorResult(
    `${HISTORY_TOOL.name} takes {"query": text} or {"seq": number}, one of the two, and beside it "from": number to go on; it got ${headOf(JSON.stringify(input) ?? 'nothing', 200)}.`,
  )
}

type Store = ActivityDeps['store']

const count = (page: string): number => priceContent([text(page)])

function limitOf({ header }: SessionRow): AnswerLimit {
  const maxTokens = Math.min(HISTORY_ANSWER_TOKENS, header.policy.toolResultMaxTokens)
  return {
    maxTokens: Math.max(LEAST_ANSWER_TOKENS, maxTokens),
    count,
  }
}

async function answerQuery(
  store: Store,
  { sessionId }: SessionRow,
  query: string,
  from: number,
  limit: AnswerLimit,
): Promise<ExecutedCall> {
  if (query.trim() === '' || query.length > QUERY_MAX_CHARS)
    return errorResult(
      `query must have 1 to ${QUERY_MAX_CHARS} characters, not only blanks; it has ${query.length}. A short, rare piece of the text finds most.`,
    )
  const hits = await hitsOf(store, sessionId, query, from)
  if (hits.length > 0) return answer(renderHits(hits, query, from, limit))
  if (from > 0) return answer(`No more hits behind the first ${from}.`)
  // A checkpoint may name a path whole that a command wrote in two parts.
  const last = query.split(/[/\\]/).at(-1) ?? ''
  const ofLast = last === query || last.trim() === '' ? [] : await hitsOf(store, sessionId, last, 0)
  if (ofLast.length === 0) return answer(NOTHING_FOUND)
  const rest = { ...limit, maxTokens: limit.maxTokens - count(NOT_WHOLE) }
  return answer(`${NOT_WHOLE}${renderHits(ofLast, last, 0, rest)}`)
}

const NOT_WHOLE = 'Nothing for the whole path. For its last part, which may be a query of its own:\n\n'

async function hitsOf(store: Store, sessionId: string, query: string, from: number): Promise<Recalled[]> {
  const found = await store.search(sessionId, query, {
    left: true,
    exceptTool: HISTORY_TOOL.name,
    skip: from,
    limit: HITS_PER_ANSWER + 1,
  })
  return found.filter(isRecalled)
}

async function answerSeq(
  store: Store,
  session: SessionRow,
  seq: number,
  from: number,
  limit: AnswerLimit,
): Promise<ExecutedCall> {
  if (seq >= session.head)
    return errorResult(
      `There is no event #${seq}: the events of this session are #0 to #${session.head - 1}.`,
    )
  const event = await wholeEvent(store, session.sessionId, seq)
  if (event === null) return errorResult(`The words of event #${seq} were erased.`)
  if (!isRecalled(event))
    return errorResult(
      `Event #${seq} is a ${event.type}: only messages, results and outputs of tools can be read. ${HISTORY_TOOL.name} {"query": text} finds their numbers.`,
    )
  const part = renderPart(event, from, limit)
  if (part === undefined)
    return errorResult(
      `Event #${event.seq} ends before character ${from}: ask with a smaller "from", or without it.`,
    )
  return from === 0 ? withMedia(part, event, limit) : answer(part)
}

/** Its first images and documents, as far as the answer has room for them; what is left out is counted. */
function withMedia(part: string, event: Recalled, { maxTokens }: AnswerLimit): ExecutedCall {
  const all = event.data.content.flatMap(mediaIn)
  if (all.length === 0) return answer(part)
  const shown: ContentBlock[] = []
  const spare = maxTokens - priceContent([text(part)]) - NOTE_TOKENS
  for (const block of all) if (priceContent([...shown, block]) <= spare) shown.push(block)
  const hidden = all.length - shown.length
  const note =
    hidden === 0
      ? []
      : [text(`[${hidden} of its ${all.length} images and documents cost too many tokens to be shown here.]`)]
  return { content: [text(part), ...shown, ...note], isError: false }
}

const NOTE_TOKENS = 30

/** The event; in the place of a shortened result the one that holds all of it. Null when its body was erased. */
async function wholeEvent(store: Store, sessionId: string, seq: number): Promise<SessionEvent | null> {
  try {
    const [event] = await store.events(sessionId, { after: seq - 1, limit: 1 })
    const whole = event === undefined ? undefined : wholeSeq(event)
    if (event === undefined || whole === undefined || whole === seq) return event ?? null
    return await wholeEvent(store, sessionId, whole)
  } catch (error) {
    if (isSessionError(error, 'SessionNotFound')) return null
    throw error
  }
}

function wholeSeq(event: SessionEvent): number | undefined {
  if (event.surfaceOp === 'append' || isCheckpointNode(event)) return fullOf(event)
  return fullOf(event) ?? event.sourceEventSeqs?.[0]
}

const fullOf = (event: SessionEvent): number | undefined =>
  event.type === 'tool/result' ? event.data.full : undefined

const answer = (said: string): ExecutedCall => ({ content: [text(said)], isError: false })
