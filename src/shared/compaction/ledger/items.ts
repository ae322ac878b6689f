import type { Item, ItemKind } from './types.ts'

/** All items of a ledger, found by kind and value. */
export class ItemTable {
  readonly #items = new Map<string, Item>()

  get(kind: ItemKind, value: string): Item | undefined {
    return this.#items.get(`${kind} ${value}`)
  }

  /** The item, new with no mention when it was not there. */
  item(kind: ItemKind, value: string): Item {
    const known = this.get(kind, value)
    if (known) return known
    const item: Item = { kind, value, n: 0, last: Number.NEGATIVE_INFINITY }
    this.add(item)
    return item
  }

  add(item: Item): void {
    this.#items.set(`${item.kind} ${item.value}`, item)
  }

  all(): Item[] {
    return [...this.#items.values()]
  }
}
