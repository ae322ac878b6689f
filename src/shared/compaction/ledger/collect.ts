import { readCalls } from './calls.ts'
import { trackDone } from './done-calls.ts'
import { type Entry, readEntries } from './entries.ts'
import { ItemTable } from './items.ts'
import { addEffects, addMentions } from './mentions.ts'
import { trackErrors } from './open-errors.ts'
import { pathRoot } from './paths.ts'
import { readPlan } from './plan.ts'
import { fromState, type LedgerState } from './state.ts'
import type { Item, Known, LedgerMessage, UserWords } from './types.ts'
import { addWords } from './user-words.ts'

/** Reads a span on top of what was carried. */
export function collect(
  span: readonly LedgerMessage[],
  previous: LedgerState | undefined,
  workingDirectory: string | undefined,
): Known {
  const root = pathRoot(workingDirectory)
  const entries = readEntries(span, previous !== undefined)
  const calls = readCalls(entries, root)
  const carried = fromState(previous)
  const table = new ItemTable(carried.items)
  addMentions(table, entries, calls, root)
  addEffects(table, calls)
  return {
    items: table.all(),
    said: addWords(
      previous?.said ?? { start: [], newest: [], leftOut: 0 },
      entries.flatMap((entry) => wordsIn(entry, span)),
    ),
    plan: readPlan(entries, previous?.plan),
    errors: trackErrors(calls, carried.errors),
    done: trackDone(calls, previous?.done ?? []),
    assistantTexts: [...(previous?.assistantTexts ?? []), ...entries.flatMap(assistantText)],
    earlierSummary: previous?.earlierSummary,
  }
}

const wordsIn = (entry: Entry, span: readonly LedgerMessage[]): UserWords[] =>
  entry.kind === 'user' ? [{ text: entry.text, note: entry.note, seq: span[entry.message]?.seq }] : []

const assistantText = (entry: Entry): string[] => (entry.kind === 'assistant' ? [entry.text] : [])

/** The items that messages mention, for comparison with those of a span. */
export function itemsIn(messages: readonly LedgerMessage[], workingDirectory: string | undefined): Item[] {
  const root = pathRoot(workingDirectory)
  const entries = readEntries(messages, true)
  const table = new ItemTable([])
  addMentions(table, entries, readCalls(entries, root), root)
  return table.all()
}
