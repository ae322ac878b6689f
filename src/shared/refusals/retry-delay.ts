/** Reads a header by its lower-case name. */
export type HeaderReader = (name: string) => string | undefined

const ANTHROPIC_LIMITS = ['requests', 'tokens', 'input-tokens', 'output-tokens']
const OPENAI_LIMITS = ['requests', 'tokens']

/**
 * Milliseconds that a provider asks to wait, uncapped: `retry-after-ms`, `retry-after` as seconds or a date, what the body says of it, then the
 * limits that are used up (`anthropic-ratelimit-*-reset`, `x-ratelimit-reset-*`). Undefined when it says nothing that can be read.
 */
export function retryDelayMs(header: HeaderReader, text: string, nowMs: number): number | undefined {
  return (
    notNegative(numberOf(header('retry-after-ms'))) ??
    afterMs(header('retry-after'), nowMs) ??
    saidMs(text) ??
    resetMs(header, nowMs)
  )
}

function afterMs(value: string | undefined, nowMs: number): number | undefined {
  const seconds = numberOf(value)
  if (seconds !== undefined) return notNegative(seconds * 1000)
  return untilMs(value, nowMs)
}

/** "try again in 1m2.5s", Google's `"retryDelay": "34s"`. */
function saidMs(text: string): number | undefined {
  const [, said] =
    /(?:try again in|retry in|"retryDelay":) ?"?((?:\d+(?:\.\d+)?(?:ms|h|m|s) ?)+)/i.exec(text) ?? []
  return said === undefined ? undefined : durationMs(said)
}

/** When the limits that are used up are there again; all limits count when none says what remains. */
function resetMs(header: HeaderReader, nowMs: number): number | undefined {
  const limits = [
    ...ANTHROPIC_LIMITS.map((name) => `anthropic-ratelimit-${name}`).map((name) => ({
      remaining: header(`${name}-remaining`),
      ms: untilMs(header(`${name}-reset`), nowMs),
    })),
    {
      remaining: header('anthropic-ratelimit-unified-remaining'),
      ms: untilEpochMs(header('anthropic-ratelimit-unified-reset'), nowMs),
    },
    ...OPENAI_LIMITS.map((name) => ({
      remaining: header(`x-ratelimit-remaining-${name}`),
      ms: durationMs(header(`x-ratelimit-reset-${name}`)),
    })),
  ].filter(({ ms }) => ms !== undefined)
  const saysRemaining = limits.some(({ remaining }) => remaining !== undefined)
  const used = limits.filter(({ remaining }) => !saysRemaining || Number(remaining) === 0)
  return used.length === 0 ? undefined : Math.max(...used.map(({ ms = 0 }) => ms))
}

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const

/** `6m0s`, `20ms`, `1.5s`; undefined for anything else. */
function durationMs(value: string | undefined): number | undefined {
  const parts = [...(value ?? '').matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/gi)]
  if (parts.length === 0) return undefined
  return parts.reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * UNIT_MS[unit?.toLowerCase() as keyof typeof UNIT_MS],
    0,
  )
}

function untilEpochMs(value: string | undefined, nowMs: number): number | undefined {
  const seconds = numberOf(value)
  return seconds === undefined ? untilMs(value, nowMs) : Math.max(0, seconds * 1000 - nowMs)
}

function untilMs(value: string | undefined, nowMs: number): number | undefined {
  const at = value === undefined ? Number.NaN : Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}

function numberOf(value: string | undefined): number | undefined {
  return value !== undefined && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : undefined
}

const notNegative = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : Math.max(0, value)
