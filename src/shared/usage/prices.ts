import { z } from 'zod'
import type { Usage } from '../session/events.ts'
import { LONG_PROMPTS, type PromptClass } from './prompt-class.ts'

const perMillion = z.number().nonnegative()
const rates = { input: perMillion, output: perMillion, cacheRead: perMillion, cacheWrite: perMillion }

/** US dollars per million tokens. */
const priceSchema = z.strictObject({
  ...rates,
  /** For requests whose prompt (input and cache) is longer: the whole request, its output too. */
  longPrompt: z.strictObject({ above: z.literal(LONG_PROMPTS), ...rates }).optional(),
})
type Rates = Omit<z.infer<typeof priceSchema>, 'longPrompt'>
export type Price = z.infer<typeof priceSchema>

export const priceTableSchema = z.strictObject({
  /** Day on which the prices were looked up. */
  date: z.string(),
  /** By `provider/model`; a model's dated name has the price of its name without the date, where the table has no other. */
  models: z.record(z.string(), priceSchema),
})
export type PriceTable = z.infer<typeof priceTableSchema>

/** A cache write (5 minutes) costs 1.25 times the input; a read a tenth of it, of the newest models less. */
const anthropic = (input: number, output: number, readShare = 0.1): Price => ({
  input,
  output,
  cacheRead: input * readShare,
  cacheWrite: input * 1.25,
})

/** List prices of the Anthropic API. Without batches, fast mode and one-hour cache writes. */
export const PRICES: PriceTable = {
  date: '2026-10-24',
  models: {
    'anthropic/claude-fable-5-1': anthropic(10, 50, 0.025),
    'anthropic/claude-fable-5': anthropic(10, 50),
    'anthropic/claude-opus-5-5': anthropic(4, 20, 0.05),
    'anthropic/claude-opus-5': anthropic(5, 25),
    'anthropic/claude-opus-4-8': anthropic(5, 25),
    'anthropic/claude-opus-4-7': anthropic(5, 25),
    'anthropic/claude-opus-4-6': anthropic(5, 25),
    'anthropic/claude-opus-4-5': anthropic(5, 25),
    'anthropic/claude-sonnet-5-5': anthropic(2, 10, 0.05),
    'anthropic/claude-sonnet-5': anthropic(2, 10),
    'anthropic/claude-sonnet-4-6': anthropic(3, 15),
    'anthropic/claude-sonnet-4-5': anthropic(3, 15),
    'anthropic/claude-haiku-5-5': {
      ...anthropic(0.1, 0.5),
      longPrompt: { above: 100_000, ...anthropic(0.5, 2.5) },
    },
    'anthropic/claude-haiku-4-5': anthropic(1, 5),
  },
}

const DATED = /[-@]20\d{6}$|-latest$/

/** The price of `provider/model`; undefined when the table does not know it. */
export function priceOf({ models }: PriceTable, name: string): Price | undefined {
  const key = [name, name.replace(DATED, '')].find((known) => Object.hasOwn(models, known))
  return key === undefined ? undefined : models[key]
}

const MILLION = 1_000_000

/** Cost of requests whose prompts are of one class; default: below every limit. */
export function costUsd(price: Price, usage: Usage, promptAbove: PromptClass = 0): number {
  const { longPrompt } = price
  const { input, output, cacheRead, cacheWrite }: Rates =
    longPrompt !== undefined && promptAbove >= longPrompt.above ? longPrompt : price
  const micro =
    usage.inputTokens * input +
    usage.outputTokens * output +
    usage.cacheReadTokens * cacheRead +
    usage.cacheWriteTokens * cacheWrite
  return micro / MILLION
}
