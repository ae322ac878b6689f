import type { PolicySettings } from './policy-input.ts'

/**
 * Named policies. A policy given beside a preset is laid over it, field by field.
 *
 * - `default`: every default.
 * - `lean`: compacts at 256,000 tokens however large the window is, which keeps requests cheap on windows of a million.
 * - `threeLevel`: clears old results at once, compacts everything that the model has seen at 50,000 tokens, keeps an archive.
 */
export const PRESETS = {
  default: {},
  lean: { thresholdTokens: 256_000 },
  threeLevel: {
    thresholdTokens: 50_000,
    retainTokens: 0,
    micro: { minReclaimTokens: 0 },
    compactTool: true,
    archive: '.transcripts',
    framePrefix: '[compressed]',
  },
} as const satisfies Readonly<Record<string, PolicySettings>>

export type PresetName = keyof typeof PRESETS
