import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import { shorterReply } from '../../src/shared/compaction/shorter-reply.ts'
import type { Header } from '../../src/shared/session/events.ts'

const replyFor = (
  inputTokens: number,
  options: { window?: number | null; reply?: number; sampling?: Header['sampling'] } = {},
) => {
  const { window = 200_000, reply = 16_384, sampling = {} } = options
  const ref = { provider: 'acme', model: 'm' }
  const facts = { ...ref, contextWindow: window, maxOutputTokens: null }
  const policy = resolvePolicy({ replyMaxTokens: reply }, facts)
  return shorterReply({ ...ref, system: '', tools: [], sampling, policy }, inputTokens)
}

test('fault A08 what is left of the window, less the reserve, down to a quarter of the reply', () => {
  assert.equal(replyFor(190_000), 200_000 - 190_000 - 2_048)
  assert.equal(replyFor(200_000 - 2_048 - 4_096), 4_096)
  assert.equal(replyFor(200_000 - 2_048 - 4_095), null)
  assert.equal(replyFor(250_000), null)
  assert.equal(replyFor(100_000), 16_384, 'never more than the policy says')
  assert.equal(replyFor(190_000, { window: null }), null)
})

test('fault A08 W − 5,000 with a reply of 8,192', () => {
  assert.equal(replyFor(195_000, { reply: 8_192 }), 2_952)
})

test('fault A08 on a small window the reserve is a tenth of the input, and 1,024 tokens are the least', () => {
  const small = { window: 8_000, reply: 2_000 }
  assert.equal(replyFor(6_200, small), 8_000 - 6_200 - 620)
  assert.equal(replyFor(6_342, small), null)
})

test('fault A08 the thinking budget stands on top of the least reply', () => {
  const thinking = (budget_tokens: number) => ({ thinking: { type: 'enabled', budget_tokens } })
  const least = 8_000 + Math.ceil((16_384 - 8_000) / 4)
  const at = (tokens: number) => replyFor(tokens, { sampling: thinking(8_000) })
  assert.equal(at(200_000 - 2_048 - least), least)
  assert.equal(at(200_000 - 2_048 - least + 1), null)
  assert.equal(replyFor(195_000, { reply: 4_096, sampling: thinking(32_000) }), 2_952, 'a budget of the turn')
})
