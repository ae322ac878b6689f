import assert from 'node:assert/strict'
import type { ReadMessage } from '../../src/formats/transcript.ts'
import { priceContent } from '../../src/shared/tokens/price.ts'
import { read, testRecorded } from '../formats/recorded-files.ts'

/*
 * Prices against what the API itself reported: from one request of a recorded session to the next, the context grows by
 * the reply and its tool results. The meter's first ratio of true tokens to ours is 1.2, so the price must be about that low.
 */

const contextOf = ({ usage }: ReadMessage): number | undefined =>
  usage && usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens

/** True tokens for one of ours, by step; steps in which a person or a harness wrote something are left out. */
function ratios(messages: readonly ReadMessage[]): number[] {
  const found: number[] = []
  let start = -1
  let price = 0
  messages.forEach((message, index) => {
    const context = contextOf(message)
    if (message.role === 'user' && message.source !== 'import') start = -1
    if (message.role === 'assistant') {
      const before = start >= 0 ? contextOf(messages[start] as ReadMessage) : undefined
      if (before !== undefined && context !== undefined && context > before)
        found.push((context - before) / price)
      start = index
      price = 0
    }
    price += priceContent(message.content)
  })
  return found.sort((a, b) => a - b)
}

const SESSIONS = [
  'broken-line',
  'never-compacted',
  'resumed-duplicates',
  'auto-compaction',
  'manual-compaction',
]

for (const name of SESSIONS) {
  testRecorded(
    `claude-code/${name}.jsonl`,
    'prices are as far below the true tokens as the first ratio assumes',
    (text) => {
      const steps = ratios(read(text).messages)
      assert.ok(steps.length > 40, `${steps.length} steps`)
      const at = (share: number): number => steps[Math.floor(share * steps.length)] as number
      console.log(
        `${name}: ${steps.length} steps, ratio ${at(0.5).toFixed(3)}, 10 % below ${at(0.1).toFixed(3)}`,
      )
      assert.ok(at(0.5) > 1.05 && at(0.5) < 1.25, `median ${at(0.5)}`)
      assert.ok(at(0.1) > 0.95, `a tenth of the steps are priced too high, by ${at(0.1)}`)
    },
  )
}

for (const name of SESSIONS.slice(0, 3)) {
  testRecorded(
    `claude-code/${name}.jsonl`,
    'the length of a signature tells the size of the thinking',
    (text) => {
      const thinking = read(text).messages.flatMap(({ content }) =>
        content.filter(({ type }) => type === 'thinking'),
      )
      const sealed = thinking.map((block) => ({ ...block, thinking: '' }))
      assert.ok(thinking.length > 40)
      const ratio = priceContent(sealed) / priceContent(thinking)
      console.log(`${name}: ${thinking.length} blocks, sealed for ${ratio.toFixed(2)} of their text`)
      assert.ok(ratio > 0.9 && ratio < 1.25, `${ratio}`)
    },
  )
}
