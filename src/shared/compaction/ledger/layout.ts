import { baseName } from './file-names.ts'
import { printed } from './rank.ts'
import type { Item, ItemKind } from './types.ts'

/**
 * Renders items, best first, as the lists of a checkpoint. Blanks separate items, because a comma costs one token each.
 * The order of lines and of items in them follows the given order.
 */
export function renderLists(items: readonly Item[]): string {
  const byKind = new Map<ItemKind, Item[]>()
  for (const item of items) addTo(byKind, item.kind, item)
  const of = (kind: ItemKind) => byKind.get(kind) ?? []
  const section = (title: string, lines: readonly string[]) =>
    lines.length > 0 ? [`## ${title}`, ...lines] : []
  return [
    ...section('Files', fileLines(of('path'), of('file'), of('directory'))),
    ...section('Commands', commandLines(of('line'), of('command'))),
    ...section('Names', nameLines(of('name'))),
    ...section('Links', joined(of('link'), ' ')),
    ...section('Ids', joined(of('id'), ' ')),
    ...section('Error codes', joined(of('error'), '; ')),
    ...section('Values', joined(of('value'), '; ')),
  ].join('\n')
}

function joined(items: readonly Item[], separator: string): string[] {
  return items.length > 0 ? [items.map(printed).join(separator)] : []
}

function fileLines(paths: readonly Item[], files: readonly Item[], directories: readonly Item[]): string[] {
  const folders = new Map<string, string[]>()
  for (const item of paths) {
    const file = baseName(item.value)
    const folder = item.value.slice(0, item.value.length - file.length)
    addTo(folders, folder, quoted(file) + editMark(item))
  }
  const lines = [...folders].map(([folder, names]) => `${quoted(folder || './')}: ${names.join(' ')}`)
  if (files.length > 0) lines.push(`elsewhere: ${files.map((item) => item.value + editMark(item)).join(' ')}`)
  const others = directories.filter(({ value }) => !folders.has(`${value}/`))
  if (others.length > 0) lines.push(`directories: ${others.map(({ value }) => value).join(' ')}`)
  return lines
}

function editMark({ edits, uncommitted }: Item): string {
  return edits ? `*${edits}${uncommitted ? '+' : ''}` : ''
}

function quoted(name: string): string {
  return /\s/.test(name) ? `"${name}"` : name
}

function commandLines(lines: readonly Item[], heads: readonly Item[]): string[] {
  const printedLines = lines.map(
    ({ value, runs = 1, failed }) => value + (runs > 1 ? ` ×${runs}` : '') + (failed ? ' (failed)' : ''),
  )
  const others = heads.filter(({ value }) => !lines.some((line) => line.value.startsWith(value)))
  return others.length > 0 ? [...printedLines, others.map(({ value }) => value).join('; ')] : printedLines
}

/** Names under the file that held them; a group of one goes to `other`, since its file would cost more than it says. */
function nameLines(names: readonly Item[]): string[] {
  const owners = new Map<string, string[]>()
  for (const { owner = '', value } of names) addTo(owners, owner, value)
  const titles = ownerTitles([...owners.keys()])
  const lines: string[] = []
  const other: string[] = []
  for (const [owner, group] of owners) {
    if (owner === '' || group.length === 1) other.push(...group)
    else lines.push(`${titles.get(owner)}: ${group.join(' ')}`)
  }
  return other.length > 0 ? [...lines, `other: ${other.join(' ')}`] : lines
}

/** The file's own name, with its folder where two files have the same. */
function ownerTitles(owners: readonly string[]): Map<string, string> {
  const sameName = new Map<string, string[]>()
  for (const owner of owners) addTo(sameName, baseName(owner), owner)
  return new Map(
    owners.map((owner) => {
      const unique = sameName.get(baseName(owner))?.length === 1
      return [owner, quoted(unique ? baseName(owner) : owner.split('/').slice(-2).join('/'))]
    }),
  )
}

function addTo<Key, Value>(groups: Map<Key, Value[]>, key: Key, value: Value): void {
  const group = groups.get(key)
  if (group) group.push(value)
  else groups.set(key, [value])
}
