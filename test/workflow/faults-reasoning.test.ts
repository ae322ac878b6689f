import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import { type ContentBlock, isToolUse, type Message, text } from '../../src/shared/session/content.ts'
import { openWire, type Wire } from '../support/anthropic/wire.ts'
import {
  call,
  endings,
  type FaultModel,
  type FaultSessions,
  ofType,
  openFaultSessions,
  words,
} from '../support/fault-sessions.ts'
import { png } from '../support/png.ts'

// Theme E: reasoning and signatures. The provider takes a signed block only as it wrote it.

let wire: Wire
let faults: FaultSessions
before(async () => {
  wire = await openWire({ future: ['vendor', 'hologram', 'signature', 'provider_metadata'] })
  faults = await openFaultSessions([], wire)
})
after(async () => {
  await faults.close()
  wire.close()
})

const thinking = (n: number): ContentBlock => ({
  type: 'thinking',
  thinking: `Thought ${n}. ${words(40)}`,
  signature: `signature-${n}`,
})
const turnsOf = (requests: readonly ModelRequest[]) => requests.filter(({ purpose }) => purpose === 'turn')
const repliesIn = (messages: readonly Message[]) =>
  messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : []))
const signaturesIn = (messages: readonly Message[]) =>
  repliesIn(messages).flatMap((content) =>
    content.flatMap((block) => (block.type === 'thinking' ? [block['signature']] : [])),
  )

describe('reasoning', { concurrency: true }, () => {
  test('fault E03: signed replies that were kept stand in their old order before newer ones, also when the compaction is undone', async () => {
    const replyOf = (n: number) => [thinking(n), text(`Answer ${n}. ${words(400)}`)]
    const fault = await faults.open({ window: 64_000, reply: ({ index }) => ({ content: replyOf(index) }) })
    for (let n = 0; n < 5; n++) await fault.say(`Question ${n}.`)
    const { nodes } = await faults.store.surface(fault.session.id)
    const [first, last] = [nodes[0]?.seq ?? 0, nodes[3]?.seq ?? 0]
    const compacted = await fault.session.compactRegion(first, last, { whenBusy: 'wait' })
    assert.ok(compacted !== null)
    for (const n of [5, 6, 7]) await fault.say(`Question ${n}.`)
    const after = turnsOf(fault.requests).at(-1) as ModelRequest
    assert.deepEqual(
      repliesIn(after.messages),
      [2, 3, 4, 5, 6].map(replyOf),
      'three kept, two new, each once',
    )
    await fault.session.undoCompaction(compacted.compactionId)
    await fault.say('Question 8.')
    const undone = turnsOf(fault.requests).at(-1) as ModelRequest
    assert.deepEqual(repliesIn(undone.messages), [0, 1, 2, 3, 4, 5, 6, 7].map(replyOf))
    await fault.sound()
  })

  for (const [what, thinks] of [
    ['the first reply alone', (n: number) => n === 0],
    ['every reply', () => true],
  ] as const)
    test(`fault E04: one turn of many rounds reaches the window, with reasoning in ${what}: it is compacted, and no reasoning is parted from its calls`, async () => {
      const ROUNDS = 24
      const replyOf = (n: number) => [...(thinks(n) ? [thinking(n)] : []), call(`c${n}`)]
      const model: FaultModel = {
        window: 16_000,
        reply: ({ index }) => (index < ROUNDS ? { content: replyOf(index) } : 'All rounds done.'),
      }
      const fault = await faults.open(model, { work: async () => words(800) })
      assert.equal((await fault.say('Work in many rounds.')).reason, 'completed')
      const events = await fault.sound()
      assert.ok(endings(events).length >= 2, 'it is not indivisible')
      assert.deepEqual([...new Set(endings(events))], ['compacted'])
      assert.deepEqual([ofType(events, 'turn/start').length, fault.ran.length], [1, ROUNDS])
      const requests = turnsOf(fault.requests)
      assert.equal(requests.length, ROUNDS + 1)
      for (const { messages } of fault.requests)
        for (const content of repliesIn(messages)) {
          const id = content.find(isToolUse)?.id
          const n = fault.ran.indexOf(id ?? '')
          assert.deepEqual(
            content,
            replyOf(n),
            'a reply stands whole, byte for byte, or has left with its reasoning',
          )
        }
      const signed = signaturesIn(requests.at(-1)?.messages ?? [])
      assert.ok(signed.length < 10, 'what was summarized took its reasoning along')
      assert.equal(new Set(signed).size, signed.length)
    })

  test('fault E05: blocks of every kind with fields that nobody knows come back from store and compaction as they were', async () => {
    const vendor = { vendor: { trace: ['a', 1, null, { deep: true }] } }
    const said: ContentBlock[] = [
      { ...text('See these.'), ...vendor },
      { ...png(16, 16, 100), ...vendor },
      {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'Plain.' },
        title: 'A',
        context: 'B',
        citations: { enabled: true },
        ...vendor,
      },
    ]
    const reply: ContentBlock[] = [
      { ...thinking(0), ...vendor },
      { type: 'redacted_thinking', data: 'opaque', ...vendor },
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' }, ...vendor },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: [
          { type: 'web_search_result', url: 'https://example.com', encrypted_content: 'e', page_age: null },
        ],
        ...vendor,
      },
      {
        ...text('Found.'),
        citations: [{ type: 'web_search_result_location', encrypted_index: 'i' }],
        ...vendor,
      },
      { type: 'hologram', payload: { points: [1, 2.5] }, ...vendor },
      {
        ...call('c0', { path: 'a', options: { nested: [1, { b: null }] } }),
        signature: 'signature-of-the-call',
        provider_metadata: { google: { thought_signature: 'of another provider' } },
        ...vendor,
      },
    ]
    const output: ContentBlock[] = [
      { ...text('Output.'), citations: null, ...vendor },
      { ...png(8, 8, 100), ...vendor },
    ]
    const fault = await faults.open(
      { window: 64_000, reply: ({ index }) => (index === 0 ? { content: reply } : `Answer ${index}.`) },
      { work: async () => ({ content: output }) },
    )
    await fault.seed(Array.from({ length: 6 }, (_, n) => [`Earlier ${n}.`, [text(words(600))]]).flat())
    const { nodes } = await faults.store.surface(fault.session.id)
    assert.equal((await fault.say(said)).reason, 'completed')
    await fault.session.compactRegion(nodes[0]?.seq ?? 0, nodes.at(-1)?.seq ?? 0, { whenBusy: 'wait' })
    await fault.say('And?')
    const [, second, third] = turnsOf(fault.requests)
    const summary = fault.requests.find(({ purpose }) => purpose === 'summary')
    for (const { messages } of [second, third, summary] as ModelRequest[]) {
      assert.deepEqual(
        repliesIn(messages).find((content) => content.length > 1),
        reply,
      )
      const blocks = messages.flatMap(({ role, content }) => (role === 'user' ? content : []))
      const from = blocks.findIndex((block) => block['text'] === 'See these.')
      assert.deepEqual(blocks.slice(from, from + said.length), said)
      assert.deepEqual(blocks.find(({ type }) => type === 'tool_result')?.['content'], output)
    }
    await fault.sound()
  })
})
