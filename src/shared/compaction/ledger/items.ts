import type { Item, ItemKind } from './types.ts'

/** All items of a ledger, found by kind and value. */
export class ItemTable {
  readonly #items: Map<string, Item>

  constructor(items: readonly Item[]) {
    this.#items = new Map(items.map((item) => [keyOf(item.kind, item.value), item]))
  }

  get(kind: ItemKind, value: string): Item | undefined {
    return this.#items.get(keyOf(kind, value))
  }

  /** The item, new with no mention when it was not there. */
  item(kind: ItemKind, value: string): Item {
    const known = this.get(kind, value)
    if (known) return known
    const item: Item = { kind, value, n: 0, last: Number.NEGATIVE_INFINITY }
    this.#items.set(keyOf(kind, value), item)
    return item
  }

  all(): Item[] {
    return [...this.#items.values()]
  }
}

function keyOf(kind: ItemKind, value: string): string {
  return `${kind} ${value}`
}
