import type { SurfaceSnapshot } from '../../shared/ports/store.ts'
import type { ContentBlock } from '../../shared/session/content.ts'
import { isSurfaceType, type NewEvent, type SurfaceNode } from '../../shared/session/events.ts'
import { priceContent } from '../../shared/tokens/price.ts'

/** A surface in memory, with what the provider's prompt cache would hold of it. */
export class SimulatedSurface {
  #nodes: SurfaceNode[] = []
  #head = 0
  #generation = 0
  /** Seqs of the nodes of the newest request, in order. */
  #requested: readonly number[] = []

  snapshot(): SurfaceSnapshot {
    return { head: this.#head, generation: this.#generation, nodes: this.#nodes }
  }

  write(events: readonly NewEvent[]): void {
    for (const event of events) {
      const seq = this.#head++
      if (!isSurfaceType(event.type)) continue
      const node = { ...event, seq, time: 0 } as SurfaceNode
      const op = event.surfaceOp
      if (typeof op === 'object' && op.op === 'replace') this.#place(node, op)
      else this.#nodes = [...this.#nodes, node]
    }
  }

  /** Puts a checkpoint in the place of a span; returns its seq. */
  replace(key: string, content: readonly ContentBlock[], range: { start: number; end: number }): number {
    const seq = this.#head
    const checkpoint: NewEvent = {
      key,
      type: 'user/message',
      turn: 1,
      step: null,
      data: { content: [...content], source: 'durable-compaction/checkpoint' },
      tokens: priceContent(content),
      surfaceOp: { op: 'replace', ...range },
    }
    this.write([checkpoint])
    return seq
  }

  /** Tokens of a request of the whole surface, and how many of them are the same prefix as in the request before. A summary's request leaves the cache as it is. */
  requestTokens(overhead: number, isSummary: boolean): { input: number; cached: number } {
    const same = this.#nodes.findIndex((node, index) => this.#requested[index] !== node.seq)
    const prefix = same === -1 ? this.#nodes : this.#nodes.slice(0, same)
    const sum = (nodes: readonly SurfaceNode[]) => nodes.reduce((total, { tokens }) => total + tokens, 0)
    const cached = this.#requested.length === 0 ? 0 : overhead + sum(prefix)
    if (!isSummary) this.#requested = this.#nodes.map((node) => node.seq)
    return { input: overhead + sum(this.#nodes), cached }
  }

  #place(node: SurfaceNode, { start, end }: { start: number; end: number }): void {
    const from = this.#nodes.findIndex((other) => other.seq === start)
    const to = this.#nodes.findIndex((other) => other.seq === end)
    this.#nodes = [...this.#nodes.slice(0, from), node, ...this.#nodes.slice(to + 1)]
    this.#generation++
  }
}
