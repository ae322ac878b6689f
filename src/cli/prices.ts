import { z } from 'zod'
import { UsageError } from './exit-codes.ts'
import { readJsonFile } from './json-file.ts'

/** US dollars per million tokens. */
const priceSchema = z.strictObject({
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  cacheRead: z.number().nonnegative(),
  cacheWrite: z.number().nonnegative(),
})
export type Price = z.infer<typeof priceSchema>

const priceTableSchema = z.strictObject({
  /** Day on which the prices were looked up. */
  date: z.string(),
  /** By `provider/model`. */
  models: z.record(z.string(), priceSchema),
})
export type PriceTable = z.infer<typeof priceTableSchema>

/** Anthropic's rule: a cache write (5 minutes) costs 1.25 times the input, a read a tenth of it. */
const anthropic = (input: number, output: number): Price => ({
  input,
  output,
  cacheRead: input / 10,
  cacheWrite: input * 1.25,
})

/** List prices as published in June 2026. Override with `--prices FILE`. */
export const PRICES: PriceTable = {
  date: '2026-06-30',
  models: {
    'anthropic/claude-opus-4-8': anthropic(5, 25),
    'anthropic/claude-opus-4-6': anthropic(5, 25),
    'anthropic/claude-opus-4-5': anthropic(5, 25),
    'anthropic/claude-sonnet-4-6': anthropic(3, 15),
    'anthropic/claude-sonnet-4-5': anthropic(3, 15),
    'anthropic/claude-haiku-4-5': anthropic(1, 5),
  },
}

/** A price table from a file. @throws UsageError */
export function readPrices(path: string): PriceTable {
  const parsed = priceTableSchema.safeParse(readJsonFile(path))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where =
    issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.map(String).join(' › ')}`
  throw new UsageError(
    `${path} is no price table${where}: ${issue?.message ?? 'not of the expected shape'}. ` +
      'It must be {"date": …, "models": {"provider/model": {"input", "output", "cacheRead", "cacheWrite"}}}, US dollars per million tokens.',
  )
}

export interface BilledTokens {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
}

const MILLION = 1_000_000

export function costUsd(price: Price, tokens: BilledTokens): number {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = tokens
  const micro =
    inputTokens * price.input +
    outputTokens * price.output +
    cacheReadTokens * price.cacheRead +
    cacheWriteTokens * price.cacheWrite
  return micro / MILLION
}

export const formatUsd = (usd: number): string => `$${usd.toFixed(usd < 10 ? 4 : 2)}`
