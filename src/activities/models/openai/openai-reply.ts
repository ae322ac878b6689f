import type { OpenAI } from 'openai'
import type { ModelReply } from '../../../shared/ports/model.ts'
import { type ContentBlock, text } from '../../../shared/session/content.ts'
import type { Usage } from '../../../shared/session/events.ts'
import { BrokenReply, CutStream } from '../reply-errors.ts'

type Delta = OpenAI.ChatCompletionChunk.Choice.Delta
type CallPart = OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall

interface PartialCall {
  readonly index: number
  id: string
  name: string
  arguments: string
}

/** Finish reasons after which every call is whole. `stop` with calls is what many servers say. */
const WITH_CALLS: ReadonlySet<string | null> = new Set(['tool_calls', 'function_call', 'stop'])

/** Puts the pieces of a streamed answer together. `add` returns the text that is new. */
export class ReplyBuilder {
  #text = ''
  #refusal = ''
  #finish: string | null = null
  #usage: Usage | null = null
  #model: string | undefined
  #chunks = 0
  readonly #calls: PartialCall[] = []

  /** @throws Error for what no assistant says */
  add(chunk: OpenAI.ChatCompletionChunk): string {
    this.#chunks++
    if (chunk.usage !== undefined && chunk.usage !== null) this.#usage = usageOf(chunk.usage)
    if (typeof chunk.model === 'string' && chunk.model !== '') this.#model = chunk.model
    const choice = chunk.choices?.[0]
    if (choice === undefined) return ''
    // LocalAI, SGLang and older Ollama say '' in every chunk but the last.
    this.#finish = choice.finish_reason || this.#finish
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
    const calls = this.#calls.map((call, at) => this.#call(at, call))
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
    for (const part of calls ?? []) {
      const call = this.#callOf(part)
      call.id ||= part.id ?? ''
      // Some servers say the whole name in each piece.
      if (part.function?.name !== call.name) call.name += part.function?.name ?? ''
      call.arguments += part.function?.arguments ?? ''
    }
    this.#text += content ?? ''
    return content ?? ''
  }

  /** The call that a part belongs to. Gemini gives its calls no index, or all the same; Poolside gives the parts of one call another id, but the name only once. */
  #callOf(part: CallPart): PartialCall {
    const { index, id } = part
    const hasIndex = typeof index === 'number'
    const known = this.#calls.findLast((call) => !hasIndex || call.index === index)
    const isOther =
      known !== undefined && (id ? id !== known.id && isNamed(part) : beginsAnother(known, part))
    if (known !== undefined && !isOther) return known
    const call = { index: hasIndex ? index : this.#calls.length, id: '', name: '', arguments: '' }
    this.#calls.push(call)
    return call
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
    if (hasCalls && WITH_CALLS.has(this.#finish)) return 'tool_use'
    return this.#finish === 'stop' || this.#finish === 'tool_calls'
      ? 'end_turn'
      : (this.#finish ?? 'end_turn')
  }
}

const isNamed = (part: CallPart): boolean => Boolean(part.function?.name)

/** Of a part without an id: whether its name is that of another call, and not more of this call's, or this one's once more. */
function beginsAnother({ name, arguments: json }: PartialCall, part: CallPart): boolean {
  if (!isNamed(part)) return false
  const hasIndex = typeof part.index === 'number'
  if (part.function?.name === name)
    return json === '' ? !hasIndex : isWhole(json) && Boolean(part.function.arguments)
  return !hasIndex || json !== '' || Boolean(part.function?.arguments)
}

function isWhole(json: string): boolean {
  try {
    JSON.parse(json)
    return true
  } catch {
    return false
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
