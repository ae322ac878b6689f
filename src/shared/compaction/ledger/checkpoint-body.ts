import type { Ledger } from './build-ledger.ts'
import { pathRoot } from './paths.ts'
import { recognise } from './recognise.ts'
import type { ItemKind } from './types.ts'

/** The body of a checkpoint: user, plan, errors, done, meaning (a model's summary, else the assistant's last texts), lists. */
export function joinSections(ledger: Ledger, summary = ''): string {
  const meaning = summary.trim() === '' ? '' : `## Summary\n${summary.trim()}`
  const { userText, plan, errors, done, earlierSummary, assistantText, lists } = ledger
  return [userText, plan, errors, done, meaning, earlierSummary, assistantText, lists]
    .filter((part) => part !== '')
    .join('\n')
}

export interface LostIdentifiers {
  readonly counts: Partial<Record<ItemKind, number>>
  /** The most useful ones of those that were lost. */
  readonly identifiers: readonly string[]
}

const LOST_NAMED_MAX = 200

/** What of the span's identifiers neither the finished checkpoint nor the tail holds. */
export function lostIdentifiers(
  ledger: Ledger,
  checkpoint: string,
  workingDirectory?: string | undefined,
): LostIdentifiers {
  const present = new Set<string>()
  const context = { root: pathRoot(workingDirectory), prose: false, known: () => false }
  recognise(checkpoint, context, (_kind, value) => present.add(value))
  const lost = ledger.unlisted.filter(({ kind, value }) =>
    kind === 'command' || kind === 'line' ? !checkpoint.includes(value) : !present.has(value),
  )
  const counts: Partial<Record<ItemKind, number>> = {}
  for (const { kind } of lost) counts[kind] = (counts[kind] ?? 0) + 1
  return { counts, identifiers: lost.slice(0, LOST_NAMED_MAX).map(({ value }) => value) }
}
