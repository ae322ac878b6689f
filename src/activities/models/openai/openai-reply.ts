import type { OpenAI } from 'openai'
import type { ModelReply } from '../../../shared/ports/model.ts'
import { type ContentBlock, text } from '../../../shared/session/content.ts'
import type { Usage } from '../../../shared/session/events.ts'
import { BrokenReply, CutStream } from '../reply-errors.ts'

type Delta = OpenAI.ChatCompletionChunk.Choice.Delta

interface PartialCall {
  id: string
  name: string
  arguments: string
}

/** Puts the pieces of a streamed answer together. `add` returns the text that is new. */
export class ReplyBuilder {
  #text = ''
  #refusal = ''
  #finish: string | null = null
  #usage: Usage | null = null
  #model: string | undefined
  #chunks = 0
  readonly #calls = new Map<number, PartialCall>()

  /** @throws Error for what no assistant says */
  add(chunk: OpenAI.ChatCompletionChunk): string {
    this.#chunks++
    if (chunk.usage !== undefined && chunk.usage !== null) this.#usage = usageOf(chunk.usage)
    if (typeof chunk.model === 'string' && chunk.model !== '') this.#model = chunk.model
    const choice = chunk.choices?.[0]
    if (choice === undefined) return ''
    this.#finish = choice.finish_reason ?? this.#finish
    return this.#addDelta(choice.delta ?? {})
  }

  get usage(): Usage | null {
    return this.#usage
  }

  /** The provider has said why it stopped: nothing more is missing but the usage. */
  get isComplete(): boolean {
    return this.#finish !== null
  }

  /** @throws Error for an answer that broke off, or whose calls are not JSON */
  reply(): ModelReply {
    if (this.#finish === null)
      throw new CutStream(`The stream ended without a finish_reason, after ${this.#chunks} chunks`)
    const said = this.#text === '' ? this.#refusal : this.#text
    const calls = [...this.#calls].sort(([a], [b]) => a - b).map(([at, call]) => this.#call(at, call))
    return {
      content: [...(said === '' ? [] : [text(said)]), ...calls],
      stopReason: this.#stopReason(calls.length > 0),
      usage: this.#usage,
      ...(this.#model === undefined ? {} : { model: this.#model }),
    }
  }

  #addDelta({ role, content, refusal, tool_calls: calls = [] }: Delta): string {
    if (role !== undefined && role !== null && role !== 'assistant')
      throw new BrokenReply(`The role of the reply is ${JSON.stringify(role)}, it must be "assistant"`)
    this.#refusal += refusal ?? ''
    for (const [at, part] of (calls ?? []).entries()) {
      const index = part.index ?? at
      const call = this.#calls.get(index) ?? { id: '', name: '', arguments: '' }
      this.#calls.set(index, call)
      call.id ||= part.id ?? ''
      call.name += part.function?.name ?? ''
      call.arguments += part.function?.arguments ?? ''
    }
    this.#text += content ?? ''
    return content ?? ''
  }

  #call(at: number, { id, name, arguments: json }: PartialCall): ContentBlock {
    return { type: 'tool_use', id: id === '' ? `call_${at}` : id, name, input: this.#input(name, json) }
  }

  #input(name: string, json: string): unknown {
    if (json.trim() === '') return {}
    try {
      return JSON.parse(json)
    } catch (error) {
      // A call that was cut off is not run, so nobody reads what it began with.
      if (this.#finish === 'length') return {}
      throw new BrokenReply(
        `The arguments of the call of ${JSON.stringify(name)} are no JSON: ${String(error)}`,
      )
    }
  }

  #stopReason(hasCalls: boolean): string {
    if (this.#finish === 'length') return 'max_tokens'
    if (this.#finish === 'content_filter' || (this.#refusal !== '' && !hasCalls)) return 'refusal'
    if (hasCalls) return 'tool_use'
    return this.#finish === 'stop' || this.#finish === 'tool_calls'
      ? 'end_turn'
      : (this.#finish ?? 'end_turn')
  }
}

function usageOf({ prompt_tokens, completion_tokens, prompt_tokens_details }: OpenAI.CompletionUsage): Usage {
  const read = prompt_tokens_details?.cached_tokens ?? 0
  return {
    inputTokens: Math.max(0, (prompt_tokens ?? 0) - read),
    outputTokens: completion_tokens ?? 0,
    cacheReadTokens: read,
    cacheWriteTokens: 0,
  }
}
