export type Count = (text: string) => number

/** Every counter counts o200k_base and takes special tokens as plain text. Loading is part of a cold start, so it is lazy here. */
export const COUNTERS = {
  ours: async (): Promise<Count> => {
    const { countTokens } = await import('../../src/shared/tokens/counter.ts')
    return countTokens
  },
  'js-tiktoken': async (): Promise<Count> => {
    const { Tiktoken } = await import('js-tiktoken/lite')
    const ranks = await import('js-tiktoken/ranks/o200k_base')
    const encoding = new Tiktoken(ranks.default)
    return (text) => encoding.encode(text, [], []).length
  },
  'gpt-tokenizer': async (): Promise<Count> => {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
    const options = { disallowedSpecial: new Set<string>() }
    return (text) => countTokens(text, options)
  },
  'ai-tokenizer': async (): Promise<Count> => {
    const { Tokenizer } = await import('ai-tokenizer')
    const encoding = await import('ai-tokenizer/encoding/o200k_base')
    const tokenizer = new Tokenizer(encoding)
    return (text) => tokenizer.encode(text, [], []).length
  },
} as const

export type CounterName = keyof typeof COUNTERS
export const COUNTER_NAMES = Object.keys(COUNTERS) as CounterName[]
