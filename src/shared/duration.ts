const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of a text such as `'90s'`, `'30m'`, `'24h'`, `'7d'`, rounded; undefined when it is none. */
export function parseDurationMs(value: string): number | undefined {
  const parts = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)$/.exec(value)
  const unit = UNIT_MS[parts?.[2] ?? '']
  return unit === undefined ? undefined : Math.round(Number(parts?.[1]) * unit)
}
