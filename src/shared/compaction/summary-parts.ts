import { type Summary, SummaryFailed } from '../ports/summarizer.ts'
import type { Message } from '../session/content.ts'
import { halve, shorten } from './message-parts.ts'
import { mergeInstruction, summaryInstruction } from './prompt.ts'
import { askForSummary, oneCallSummary, type SummaryAnswer, summaryOf } from './summary-call.ts'
import { CALL_INDEX, headFor, OWN_SYSTEM, type SummaryRun, usableTokens } from './summary-run.ts'

/**
 * The planned chunks one by one, then a merge. A chunk that does not fit is halved, a single message shortened, until each
 * part fits or is refused at less than a hundredth of its size.
 *
 * @throws SummaryFailed
 */
export async function summarizeInParts(run: SummaryRun): Promise<Summary> {
  const notes: SummaryAnswer[] = []
  for (const [chunk, messages] of run.input.chunks.entries()) {
    notes.push(...(await summarizePart(run, messages, chunk, 1)))
  }
  const [only] = notes
  if (only !== undefined && notes.length === 1) return oneCallSummary(run, only)
  return summaryOf(run, await merge(run, notes, 0))
}

/** Seven times halved. */
const LAST_NODE = 127

async function summarizePart(
  run: SummaryRun,
  messages: readonly Message[],
  chunk: number,
  node: number,
): Promise<SummaryAnswer[]> {
  const { lastSeq, focus, chunks, spanTokens } = run.input
  const length = partLength(run)
  const isWholeSpan = chunks.length === 1 && node === 1
  const answer = await askForSummary(run, {
    ...length,
    index: CALL_INDEX.part(chunk, node),
    purpose: 'chunk',
    head: headFor(run, messages),
    messages,
    instruction: summaryInstruction({
      lastSeq,
      askTokens: length.askTokens,
      part: true,
      ...(focus === undefined ? {} : { focus }),
    }),
    spanTokens: isWholeSpan ? spanTokens : Number.POSITIVE_INFINITY,
  })
  if (answer !== 'overflow') return [answer]
  if (2 * node > LAST_NODE) throw overflow(run, 'A part of the span, shortened to less than a hundredth,')
  const halves = halve(messages, run.input.priceContent) ?? [shorten(messages)]
  const notes: SummaryAnswer[] = []
  for (const [side, half] of halves.entries()) {
    notes.push(...(await summarizePart(run, half, chunk, 2 * node + side)))
  }
  return notes
}

/** Merges notes in groups that fit one request, and the results again, until one is left. */
async function merge(
  run: SummaryRun,
  notes: readonly SummaryAnswer[],
  ordinal: number,
): Promise<SummaryAnswer> {
  const { focus, askTokens, limitTokens, spanTokens } = run.input
  const groups = groupsThatFit(run, notes)
  const isLast = groups.length === 1
  if (groups.length === notes.length && !isLast) throw overflow(run, `The merge of ${notes.length} parts`)
  const length = isLast ? { askTokens, limitTokens } : partLength(run)
  const merged: SummaryAnswer[] = []
  for (const [position, group] of groups.entries()) {
    const answer = await askForSummary(run, {
      ...length,
      index: CALL_INDEX.merge(ordinal + position),
      purpose: 'merge',
      head: { system: OWN_SYSTEM, tools: [] },
      messages: [],
      instruction: mergeInstruction({
        notes: group,
        askTokens: length.askTokens,
        ...(focus === undefined ? {} : { focus }),
      }),
      spanTokens: isLast ? spanTokens : Number.POSITIVE_INFINITY,
    })
    if (answer === 'overflow') throw overflow(run, `The merge of ${group.length} parts`)
    merged.push(answer)
  }
  const [only] = merged
  return isLast && only !== undefined ? only : merge(run, merged, ordinal + groups.length)
}

function groupsThatFit(run: SummaryRun, notes: readonly SummaryAnswer[]): string[][] {
  const room = usableTokens(run)
  const groups: string[][] = []
  let used = 0
  for (const note of notes) {
    const tokens = run.input.countTokens(note.text)
    if (groups.length === 0 || used + tokens > room) {
      groups.push([])
      used = 0
    }
    groups.at(-1)?.push(note.text)
    used += tokens
  }
  return groups
}

const SHORTEST_PART_TOKENS = 300

/** Notes on a part are the shorter the more parts there are, so that their merge fits. */
function partLength(run: SummaryRun): { readonly askTokens: number; readonly limitTokens: number } {
  const { chunks, spanTokens, limitTokens: most, askTokens } = run.input
  const parts = Math.max(chunks.length, Math.ceil(spanTokens / Math.max(1, usableTokens(run))))
  const limitTokens = Math.min(most, Math.max(SHORTEST_PART_TOKENS, Math.floor((3 * most) / parts)))
  return { limitTokens, askTokens: Math.floor((askTokens * limitTokens) / most) }
}

const overflow = ({ input, contextWindow }: SummaryRun, what: string): SummaryFailed =>
  new SummaryFailed(
    'overflow',
    `${what} does not fit the window of ${input.request.provider}/${input.request.model} (${contextWindow ?? 'unknown'} tokens).`,
  )
