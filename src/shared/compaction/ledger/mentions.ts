import type { CallFacts } from './calls.ts'
import { commandHead, commandLine } from './commands.ts'
import { type Entry, inputText, MATCHED_CHARS } from './entries.ts'
import type { ItemTable } from './items.ts'
import type { PathContext } from './paths.ts'
import { recognise } from './recognise.ts'
import type { Item } from './types.ts'

const WEIGHT = { user: 1, assistant: 1, call: 1, result: 0.25, injected: 0.25 } as const

/** Adds every mention in the entries to the table: count, newest position, label, and the file that a name belongs to. */
export function addMentions(
  table: ItemTable,
  entries: readonly Entry[],
  calls: readonly CallFacts[],
  root: string,
): void {
  const factsOf = new Map<Entry, CallFacts>()
  for (const facts of calls) {
    factsOf.set(facts.call, facts)
    if (facts.result) factsOf.set(facts.result, facts)
  }
  const shellTargets = new Map<CallFacts, string>()
  const known = (path: string) =>
    table.get('path', path) !== undefined || table.get('directory', path) !== undefined
  for (const entry of entries) {
    const facts = factsOf.get(entry)
    const prose = entry.kind === 'user' || entry.kind === 'assistant'
    const found = itemsIn(entry, facts, table, { root, prose, known })
    for (const item of found) {
      item.n += WEIGHT[entry.kind]
      item.last = entry.message
    }
    if (!facts) continue
    if (entry.kind === 'call') rememberShellTarget(facts, found, shellTargets)
    const file = facts.edits.length === 1 ? facts.edits[0] : (facts.target ?? shellTargets.get(facts))
    const edited = entry.kind === 'call' && facts.edits.length === 1
    if (file !== undefined) assignNames(found, file, edited)
  }
}

/** The distinct items that one entry holds, created in the table where they are new. */
function itemsIn(
  entry: Entry,
  facts: CallFacts | undefined,
  table: ItemTable,
  context: PathContext,
): Set<Item> {
  const found = new Set<Item>()
  const text = entry.kind === 'call' ? inputText(entry.input) : entry.text.slice(0, MATCHED_CHARS)
  recognise(text, context, (kind, value, label) => {
    const item = table.item(kind, value)
    if (label !== undefined) item.label = label
    found.add(item)
  })
  if (entry.kind !== 'call' || !facts) return found
  for (const file of facts.target === undefined ? facts.edits : [facts.target, ...facts.edits]) {
    found.add(table.item('path', file))
  }
  for (const command of facts.commands) {
    const head = commandHead(command)
    const line = commandLine(command)
    if (head !== undefined) found.add(table.item('command', head))
    if (line !== undefined) found.add(table.item('line', line))
  }
  return found
}

function rememberShellTarget(
  facts: CallFacts,
  found: ReadonlySet<Item>,
  targets: Map<CallFacts, string>,
): void {
  if (facts.script === undefined) return
  const files = [...found].filter(({ kind }) => kind === 'path' || kind === 'file')
  const [only] = files
  if (files.length === 1 && only) targets.set(facts, only.value)
}

/** A name belongs to the file of the last edit that held it, else to the last file that was seen with it. */
function assignNames(found: ReadonlySet<Item>, file: string, edited: boolean): void {
  for (const item of found) {
    if (item.kind !== 'name' || (item.ownerEdited && !edited)) continue
    item.owner = file
    item.ownerEdited = edited
  }
}

/** Adds what calls did: edits since the last commit, runs of commands and whether the last one failed. */
export function addEffects(table: ItemTable, calls: readonly CallFacts[]): void {
  const uncommitted = new Set(table.all().filter((item) => item.uncommitted))
  for (const { outcome, edits, commits, commands } of calls) {
    if (outcome === 'ok') {
      for (const file of edits) {
        const item = table.item('path', file)
        item.edits = (item.edits ?? 0) + 1
        item.uncommitted = true
        uncommitted.add(item)
      }
      if (commits) {
        for (const item of uncommitted) item.uncommitted = false
        uncommitted.clear()
      }
    }
    if (outcome === 'rejected') continue
    for (const command of commands) {
      const line = commandLine(command)
      if (line === undefined) continue
      const item = table.item('line', line)
      item.runs = (item.runs ?? 0) + 1
      item.failed = outcome === 'failed'
    }
  }
}
