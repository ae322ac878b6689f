import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import type { MessageSource, NewEvent, SurfaceNode } from '../../src/shared/session/events.ts'

type NodeOf<T extends SurfaceNode['type']> = Extract<SurfaceNode, { readonly type: T }>

interface Place {
  readonly seq?: number
  readonly tokens?: number
  readonly turn?: number | null
  readonly step?: number | null
}

/** Makes the nodes of a surface, with seqs that rise by one unless a place says otherwise. Prices: a quarter of the JSON's characters. */
export class SurfaceBuilder {
  readonly nodes: SurfaceNode[] = []
  #seq = 0

  user(content: string | ContentBlock[], source: MessageSource = 'prompt', place: Place = {}): this {
    const data = { content: blocks(content), source }
    const surfaceOp =
      source === 'durable-compaction/checkpoint' ? ({ op: 'replace', start: 0, end: 0 } as const) : 'append'
    return this.#add({ ...this.#base('user', data.content, place), type: 'user/message', data, surfaceOp })
  }

  checkpoint(content: string, place: Place = {}): this {
    return this.user(content, 'durable-compaction/checkpoint', place)
  }

  /** A reply: its text, then one call per id. */
  reply(
    content: string | ContentBlock[],
    callIds: readonly string[] = [],
    place: Place & { stopReason?: string } = {},
  ): this {
    const calls = callIds.map((id) => ({ type: 'tool_use', id, name: 'run_command', input: { command: id } }))
    const data = {
      content: [...blocks(content), ...calls],
      usage: null,
      stopReason: place.stopReason ?? (calls.length > 0 ? 'tool_use' : 'end_turn'),
      provider: 'scripted',
      model: 'small',
    }
    return this.#add({
      ...this.#base('reply', data.content, place),
      type: 'assistant/message',
      data,
      surfaceOp: 'append',
    })
  }

  result(
    callId: string,
    content: string | ContentBlock[],
    options: Place & { name?: string; isError?: boolean; full?: number } = {},
  ): this {
    const { name = 'run_command', isError = false, full } = options
    const data = { callId, name, content: blocks(content), isError, ...(full === undefined ? {} : { full }) }
    return this.#add({
      ...this.#base('result', data.content, options),
      type: 'tool/result',
      data,
      surfaceOp: 'append',
    })
  }

  /** The copy that takes a result's place, as the fold leaves it on the surface. */
  replaceByCopy(event: NewEvent<'tool/result'>): this {
    const target = event.surfaceOp
    if (typeof target !== 'object' || target.op !== 'replace') throw new Error('not a copy')
    const index = this.nodes.findIndex((node) => node.seq === target.start)
    if (index === -1) throw new Error(`no node ${target.start}`)
    this.nodes[index] = { ...event, seq: this.#seq++, time: 0 }
    return this
  }

  /** The next node gets at least this seq. */
  skipTo(seq: number): this {
    this.#seq = Math.max(this.#seq, seq)
    return this
  }

  #base(
    kind: string,
    content: readonly ContentBlock[],
    { seq = this.#seq, tokens, turn = 1, step = 1 }: Place,
  ) {
    this.#seq = Math.max(this.#seq, seq) + 1
    return {
      seq,
      key: `${kind}.${seq}`,
      time: seq,
      turn,
      step,
      tokens: tokens ?? Math.ceil(JSON.stringify(content).length / 4),
    }
  }

  #add(node: NodeOf<'user/message'> | NodeOf<'assistant/message'> | NodeOf<'tool/result'>): this {
    this.nodes.push(node)
    return this
  }
}

export const surface = (): SurfaceBuilder => new SurfaceBuilder()

/** An answered call: the reply with it, and its result. */
export const answered = (builder: SurfaceBuilder, callId: string, tokens = 100): SurfaceBuilder =>
  builder.reply('', [callId], { tokens: 10 }).result(callId, `output of ${callId}`, { tokens: tokens - 10 })

function blocks(content: string | ContentBlock[]): ContentBlock[] {
  if (typeof content !== 'string') return content
  return content === '' ? [] : [text(content)]
}
