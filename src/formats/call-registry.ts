import type { ContentBlock, ToolResultBlock, ToolUseBlock } from '../shared/session/content.ts'
import { isObject } from './json-text.ts'
import type { ReadChange } from './transcript.ts'

export interface Call {
  /** Unique in the conversation, and of the characters that the Messages API takes. */
  readonly id: string
  readonly name: string
  readonly line: number
  /** Number of the reply that made the call. */
  readonly reply: number
  result?: CallResult
}

export interface CallResult {
  readonly line: number
  /** The record's own id. */
  readonly id: string | undefined
  readonly block: ToolResultBlock
  /** Number of the item of the conversation behind which the result stood. */
  readonly behind: number
}

interface CallsOfOneId {
  readonly open: Call[]
  /** The call that got the last result. */
  answered?: Call
}

export type Answer =
  | { readonly outcome: 'first'; readonly call: Call }
  | { readonly outcome: 'second'; readonly call: Call }
  | { readonly outcome: 'no-call'; readonly call?: never }

/** Gives calls unique ids and finds the call that a result answers. */
export class CallRegistry {
  readonly #changes: ReadChange[]
  readonly #byRecordedId = new Map<string, CallsOfOneId>()
  readonly #usedIds = new Set<string>()
  readonly #nextSuffix = new Map<string, number>()
  readonly #renamedTools = new Set<string>()

  constructor(changes: ReadChange[]) {
    this.#changes = changes
  }

  register(
    block: ContentBlock,
    line: number,
    reply: number,
  ): { readonly call: Call; readonly block: ToolUseBlock } {
    const recordedId = typeof block['id'] === 'string' ? block['id'] : ''
    const id = this.#uniqueId(recordedId)
    if (id !== recordedId) this.#change(line, 'call-renamed', `${recordedId || '(no id)'} -> ${id}`)
    const name = this.#toolName(typeof block['name'] === 'string' ? block['name'] : '', line)
    const call: Call = { id, name, line, reply }
    const calls = this.#byRecordedId.get(recordedId) ?? { open: [] }
    calls.open.push(call)
    this.#byRecordedId.set(recordedId, calls)
    let input = block['input']
    if (!isObject(input)) {
      this.#change(line, 'input-wrapped', `${id}: the input is no object; it stands under "input"`)
      input = { input: input ?? null }
    }
    return { call, block: { ...block, type: 'tool_use', id, name, input } }
  }

  /** Closes the call that a result answers: of several open ones with its id, the first of the newest reply. */
  answer(recordedId: string): Answer {
    const calls = this.#byRecordedId.get(recordedId)
    if (calls === undefined) return { outcome: 'no-call' }
    const { open } = calls
    let index = open.length - 1
    while (index > 0 && open[index - 1]?.reply === open[index]?.reply) index--
    const [call] = open.splice(Math.max(index, 0), 1)
    if (call === undefined)
      return calls.answered ? { outcome: 'second', call: calls.answered } : { outcome: 'no-call' }
    calls.answered = call
    return { outcome: 'first', call }
  }

  #uniqueId(recorded: string): string {
    const base = recorded.replace(/[^A-Za-z0-9_-]/g, '_') || 'call'
    let id = base
    for (let n = this.#nextSuffix.get(base) ?? 2; this.#usedIds.has(id); n++) {
      id = `${base}-${n}`
      this.#nextSuffix.set(base, n + 1)
    }
    this.#usedIds.add(id)
    return id
  }

  #toolName(recorded: string, line: number): string {
    const name = toolName(recorded)
    if (name !== recorded && !this.#renamedTools.has(recorded)) {
      this.#renamedTools.add(recorded)
      this.#change(line, 'tool-renamed', `${recorded || '(no name)'} -> ${name}`)
    }
    return name
  }

  #change(line: number, kind: ReadChange['kind'], detail: string): void {
    this.#changes.push({ line, kind, detail })
  }
}

/** A tool's name as the Messages API allows it. */
export const toolName = (recorded: string): string =>
  recorded.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 128) || 'unnamed'
