import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readCheckpointSource, readPinEvents } from '../../src/shared/compaction/read-checkpoint-source.ts'
import { text } from '../../src/shared/session/content.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { sampleHeader } from '../../src/store/contract/sample-events.ts'
import { checkpointOf, nodeBuilder, pageOf, summaryEvent, testPolicy } from './checkpoint-fixtures.ts'

describe('what a checkpoint is made from', () => {
  const { user, checkpoint, assistant, bulk } = nodeBuilder()
  const first = checkpointOf([user('Use someName in src/a.ts.'), ...bulk(), assistant(text('ok'))], {
    summary: [text('It went well.')],
  })
  const node = checkpoint('c1', first.content)
  const summary = summaryEvent('c1', 40, first, [text('It went well.')])
  const pinned = { type: 'session/pin', data: { id: 'a', text: 'x' } } as unknown as SessionEvent

  test('the summaries behind its checkpoints, and what people pinned', async () => {
    const asked: unknown[] = []
    const store = {
      events: async (...query: unknown[]) => {
        asked.push(query)
        return [pinned]
      },
      eventsByKeys: async (...query: unknown[]) => {
        asked.push(query)
        return [summary, pinned]
      },
    }
    const header = sampleHeader()
    const countTokens = (value: string) => value.length
    const source = await readCheckpointSource(store, { sessionId: 's', header }, [node], countTokens)
    assert.deepEqual(source, {
      nodes: [node],
      previous: [summary],
      pinEvents: [pinned],
      policy: header.policy,
      countTokens,
      historyTool: false,
    })
    assert.deepEqual(asked, [
      ['s', ['compact.c1.summary']],
      ['s', { types: ['session/pin', 'session/unpin'], limit: 10_000 }],
    ])
    asked.length = 0
    const plain = await readCheckpointSource(store, { sessionId: 's', header }, [user('x')], countTokens)
    assert.deepEqual(plain.previous, [])
    assert.equal(asked.length, 1)
    assert.deepEqual(await readPinEvents(store, 's'), [pinned])
  })

  test("a model's summary waits for a next checkpoint without a model, and is not told twice", () => {
    const next = [node, user('Go on with someName.'), ...bulk(), assistant(text('done'))]
    const without = pageOf(checkpointOf(next, { previous: [summary] }))
    assert.match(without, /## Earlier summary\n- It went well\./)
    const withModel = checkpointOf(next, {
      previous: [summary],
      summary: [text(' It ended. '), { type: 'thinking', thinking: 'x' }],
    })
    assert.match(pageOf(withModel), /## Summary\nIt ended\.\n/)
    assert.doesNotMatch(pageOf(withModel), /Earlier summary|\n\n/)
    assert.equal(withModel.ledger.earlierSummary, 'It ended.')
    assert.equal(checkpointOf(next, { summary: [text(' \n')] }).ledger.earlierSummary, undefined)
    assert.equal(withModel.ledger.covers.messages, first.ledger.covers.messages + 4)
  })

  test('pins of the policy are read anew each time, the others are carried', () => {
    const built = checkpointOf([user('Go. <keep>stay</keep>'), ...bulk(), assistant(text('ok'))], {
      policy: testPolicy({ pins: { texts: ['rule'] } }),
    })
    assert.deepEqual(
      built.ledger.pins.map(({ source, text: value }) => [source, value]),
      [['keep', 'stay']],
    )
    assert.match(pageOf(built), /standing rule\n```\nrule\n```/)
  })
})
