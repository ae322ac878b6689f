import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'

// An activity writes to the store and then reports to the workflow. Here the report is on its way for a while, as on a crowded machine.

const LATE_MS = 250

const words: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => 'word '.repeat(1_000),
}
const model = scriptedModel(
  ({ index }) =>
    index % 4 < 3 ? { content: [{ type: 'tool_use', id: `c${index}`, name: 'words', input: {} }] } : 'Done.',
  { capacity: { contextWindow: 64_000, maxOutputTokens: 4_000 }, summaries: 'Words were read. Next: go on.' },
)

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [words], {
    worker: {
      interceptors: {
        activity: [
          () => ({
            inbound: {
              async execute(input, next) {
                const result = await next(input)
                await sleep(LATE_MS)
                return result
              },
            },
          }),
        ],
      },
    },
  })
})
after(() => real.close())

describe('a client is no older than what it has read in the store', () => {
  test('after the result of a turn and of a compaction', async () => {
    const session = await real.start({ policy: { micro: false, prune: false, retainTokens: 500 } })
    const turn = await session.prompt('Read the words.')
    assert.equal((await turn.result({ timeoutMs: 90_000 })).reason, 'completed')
    const [state, reading] = [await session.state(), await session.contextReading()]
    assert.equal(state.status, 'idle')
    assert.equal(state.turn, null)
    await whenIdle(session)
    assert.deepEqual(reading, await session.contextReading())

    const result = await session.compactNow()
    const compacted = await session.contextReading()
    assert.equal((await session.state()).status, 'idle')
    assert.equal(compacted?.tokens, result?.tokensAfter)
    assert.ok((compacted?.tokens ?? 0) < (reading?.tokens ?? 0))
  })
})
