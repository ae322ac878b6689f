/** The two image resolutions of Claude models. */
export type ImageTier = 'standard' | 'high'

export interface ImageSize {
  /** Pixels. */
  readonly width: number
  readonly height: number
}

/** Claude sees an image in squares of this many pixels a side, each one token. */
const PATCH_PIXELS = 28

const LIMITS: Readonly<Record<ImageTier, { readonly edgePixels: number; readonly tokens: number }>> = {
  standard: { edgePixels: 1568, tokens: 1568 },
  high: { edgePixels: 2576, tokens: 4784 },
}

/** The most that one image can cost, and the price of one whose size is unknown. */
export const maxImageTokens = (tier: ImageTier): number => LIMITS[tier].tokens

/**
 * The tier of a model by its name: `standard` for Claude models before 4.7, `high` for all others, because the
 * higher price is the safe one for a model that we do not know.
 */
export function imageTier(model: string): ImageTier {
  const version = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(model)
  if (version === null) return 'high'
  const major = Number(version[1])
  const minor = Number(version[2] ?? 0)
  return major < 4 || (major === 4 && minor < 7) ? 'standard' : 'high'
}

/**
 * Tokens of an image: ⌈width / 28⌉ × ⌈height / 28⌉ of the largest size, in the same proportions, that is within the tier's
 * edge and token limits. Agrees with `resized_size` of Anthropic's vision guide, for example 1,560 tokens for a
 * screenshot of 1920 × 1080 on the standard tier, and 2,691 on the high one.
 */
export function imageTokens({ width, height }: ImageSize, tier: ImageTier): number {
  const long = Math.max(width, height)
  const short = Math.min(width, height)
  if (fits(long, short, tier)) return patches(long) * patches(short)
  // The long edge, by bisection: `low` fits, `high` does not.
  let low = 1
  let high = long
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2)
    if (fits(middle, scaled(short, middle / long), tier)) low = middle
    else high = middle
  }
  return patches(low) * patches(scaled(short, low / long))
}

const patches = (pixels: number): number => Math.ceil(pixels / PATCH_PIXELS)

const scaled = (pixels: number, factor: number): number => Math.max(1, Math.round(pixels * factor))

function fits(long: number, short: number, tier: ImageTier): boolean {
  const { edgePixels, tokens } = LIMITS[tier]
  return patches(long) * PATCH_PIXELS <= edgePixels && patches(long) * patches(short) <= tokens
}
