import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import { cacheShares, shareOf } from '../support/anthropic/cache-shares.ts'
import { openWire, type Wire } from '../support/anthropic/wire.ts'
import { openStagedSession } from '../support/staged-session.ts'

// The prompt cache over a long session: what each request repeats and reads, over HTTP, from the bytes that were sent.

let wire: Wire
before(async () => {
  wire = await openWire()
})
after(() => {
  assert.deepEqual(wire.problems, [])
  wire.close()
})

const STEPS = 50
/** More blocks than the provider looks back, in one step. */
const WIDE = 24

const call = (id: string): ContentBlock => ({
  type: 'tool_use',
  id,
  name: 'look',
  input: { path: `${id}.ts` },
})
const callsOf = (step: number) =>
  Array.from({ length: step === 30 ? WIDE : 2 }, (_, n) => call(`c${step}_${n}`))

test('50 steps: each reads all that the one before wrote, the summary too; 95 % of the bytes repeat; at most four marks', async () => {
  const session = await openStagedSession({
    wire,
    window: 400_000,
    reply: ({ index }) => ({
      content:
        index < STEPS
          ? [
              { type: 'thinking', thinking: `Step ${index}.`, signature: `sig-${index}` },
              text(`I look, ${index}.`),
              ...callsOf(index),
            ]
          : [text('All was looked at.')],
    }),
    tools: [
      {
        name: 'look',
        description: 'Looks.',
        input: { jsonSchema: { type: 'object' } },
        run: async () => 'a line of a file\n'.repeat(20),
      },
    ],
  })
  assert.equal((await session.say('Look at everything.')).reason, 'completed')
  assert.equal((await session.compact()).outcome, 'compacted')
  assert.equal((await session.say('And now?')).reason, 'completed')
  await session.sound()
  const at = wire.asked.findIndex(({ purpose }) => purpose === 'summary')
  const shares = cacheShares(wire.asked.map(({ body }) => body))
  assert.deepEqual([at, shares.length], [STEPS + 1, STEPS + 3])
  for (const [index, { read, marks }] of shares.slice(0, at + 1).entries()) {
    assert.ok(marks <= 4, `request ${index} has ${marks} marks`)
    const written = shares[index - 1]?.bytes ?? 0
    assert.ok(read >= written, `request ${index} reads ${read} bytes of the ${written} before it`)
  }
  const [turns, summary] = [shares.slice(0, at), shares.slice(at, at + 1)]
  for (const what of ['repeated', 'read'] as const) {
    assert.ok(shareOf(turns, what) >= 0.95, `turns, ${what}: ${shareOf(turns, what)}`)
    assert.ok(shareOf(summary, what) >= 0.95, `summary, ${what}: ${shareOf(summary, what)}`)
  }
  // The checkpoint is new; system and tools are not.
  assert.ok((shares[at + 1]?.read ?? 0) > 0)
})
