import { baseName } from './file-names.ts'
import type { Item, ItemKind } from './types.ts'

const KIND_WEIGHT: Record<ItemKind, number> = {
  link: 1,
  path: 1.5,
  directory: 0.5,
  file: 1,
  error: 1,
  name: 1,
  id: 1,
  value: 0.5,
  command: 1,
  line: 0.5,
}
/** Messages after which a mention counts half. */
const HALF_AGE = 40

/** An item as the lists print it: a value with the word in front of it. */
export function printed({ value, label }: Item): string {
  return label === undefined ? value : `${label} ${value}`
}

/**
 * All items, the most useful first: weight of the kind × ln(1 + mentions) × 40 / (40 + age in messages) ÷ √characters. A path inherits
 * mentions and age of its bare file name, which then has no place of its own. `cut` is the number of messages of the span.
 */
export function rankItems(items: readonly Item[], cut: number): Item[] {
  const files = new Map(items.filter(({ kind }) => kind === 'file').map((item) => [item.value, item]))
  const covered = new Set<Item>()
  const merged = items.map((item) => {
    const file = item.kind === 'path' ? files.get(baseName(item.value)) : undefined
    if (!file) return item
    covered.add(file)
    return { ...item, n: item.n + file.n, last: Math.max(item.last, file.last) }
  })
  return merged
    .filter((item) => !covered.has(item))
    .map((item) => ({ item, score: score(item, cut) }))
    .sort((a, b) => b.score - a.score || b.item.last - a.item.last || compare(a.item.value, b.item.value))
    .map(({ item }) => item)
}

function score(item: Item, cut: number): number {
  const age = cut - item.last
  const length = cost(printed(item)) + (item.kind === 'value' ? 4 : 0)
  return (KIND_WEIGHT[item.kind] * Math.log(1 + item.n) * HALF_AGE) / (HALF_AGE + age) / Math.sqrt(length)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function cost(text: string): number {
  return text.length + text.replace(/\D/g, '').length
}
