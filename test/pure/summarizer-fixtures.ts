import { modelSummarizer } from '../../src/shared/compaction/model-summarizer.ts'
import type { ModelCapacity, ModelClient, ModelReply, ModelRequest } from '../../src/shared/ports/model.ts'
import { ContextOverflowError } from '../../src/shared/ports/model.ts'
import type { PaidCalls, SummarizeInput } from '../../src/shared/ports/summarizer.ts'
import { type ContentBlock, isText, type Message, text } from '../../src/shared/session/content.ts'

/** Four characters a token: cheap and additive enough for decisions about size. */
export const countTokens = (value: string): number => Math.ceil(value.length / 4)

export const user = (...content: (string | ContentBlock)[]): Message => ({
  role: 'user',
  content: content.map(block),
})
export const assistant = (...content: (string | ContentBlock)[]): Message => ({
  role: 'assistant',
  content: content.map(block),
})
const block = (value: string | ContentBlock): ContentBlock =>
  typeof value === 'string' ? text(value) : value

export const toolUse = (id: string, name = 'read_file'): ContentBlock => ({
  type: 'tool_use',
  id,
  name,
  input: { path: `${id}.ts` },
})
export const toolResult = (id: string, output: string): ContentBlock => ({
  type: 'tool_result',
  tool_use_id: id,
  content: [text(output)],
})

export const priceContent = (content: readonly ContentBlock[]): number => countTokens(JSON.stringify(content))

/** Rounds of one call and its result of about `tokens` tokens, behind a prompt. */
export function conversation(rounds: number, tokens: number): Message[] {
  const messages = [user('Make the uploader retry.')]
  for (let i = 0; i < rounds; i++) {
    messages.push(
      assistant(`Round ${i}.`, toolUse(`c${i}`)),
      user(toolResult(`c${i}`, `line of ${i}; `.repeat(Math.ceil((tokens * 4) / 11)))),
    )
  }
  return messages
}

export function inputFor(
  span: readonly Message[],
  change: Partial<SummarizeInput> = {},
  tail: readonly Message[] = [],
): SummarizeInput {
  const request: ModelRequest = {
    provider: 'p',
    model: 'm',
    system: 'You are an agent.',
    tools: [{ name: 'read_file', description: 'Reads a file.', inputSchema: { type: 'object' } }],
    messages: [...span, ...tail],
    maxTokens: 16_000,
    sampling: {},
    purpose: 'summary',
    index: 0,
    sessionId: 's',
  }
  const spanTokens = span.reduce((sum, message) => sum + countTokens(JSON.stringify(message.content)), 0)
  return {
    span,
    chunks: [span],
    request,
    lastSeq: 412,
    maxTokens: 8_192,
    askTokens: 1_800,
    limitTokens: 2_700,
    spanTokens,
    countTokens,
    priceContent,
    usageRatio: 1,
    ...change,
  }
}

export type Answer = string | ModelReply | Error

/** A model of a given window that answers by a function, and the calls of one attempt, kept across `run`s as the store keeps them. */
export function attempt(
  answer: (request: ModelRequest, ordinal: number) => Answer,
  capacity: Partial<ModelCapacity> = {},
) {
  const sent: ModelRequest[] = []
  const stored = new Map<number, Awaited<ReturnType<PaidCalls['call']>>>()
  const purposes: string[] = []
  const client: ModelClient = {
    capacity: async () => ({ contextWindow: null, maxOutputTokens: null, ...capacity }),
    async generate(request) {
      sent.push(request)
      const given = answer(request, sent.length - 1)
      if (given instanceof Error) throw given
      return typeof given === 'string'
        ? { content: [text(given)], stopReason: 'end_turn', usage: null }
        : given
    },
  }
  const paid: PaidCalls = {
    async call(index, { request, judge, purpose }) {
      const known = stored.get(index)
      if (known !== undefined) return { ...known, fromStore: true }
      const reply = await client.generate(request, { signal: new AbortController().signal })
      const refusedBecause = judge(reply)
      const made = {
        reply,
        accepted: refusedBecause === null,
        ...(refusedBecause === null ? {} : { refusedBecause }),
        fromStore: false,
      }
      stored.set(index, made)
      purposes.push(purpose)
      return made
    },
  }
  const summarizer = modelSummarizer({ p: client })
  return {
    sent,
    stored,
    purposes,
    run: (input: SummarizeInput, signal = new AbortController().signal) =>
      summarizer.summarize(input, { signal, paid }),
  }
}

export const overflow = () => new ContextOverflowError('prompt is too long')

export const sizeOf = (request: ModelRequest): number => countTokens(JSON.stringify(request.messages))

export const lastText = (request: ModelRequest): string => {
  const last = request.messages.at(-1)?.content.filter(isText) ?? []
  return last.map((part) => part.text).join('\n')
}
