import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { holdsCallMarkup } from '../../src/shared/compaction/call-markup.ts'
import { ManualCompactionError, SessionError } from '../../src/shared/errors.ts'
import { isText, text } from '../../src/shared/session/content.ts'
import type { ScriptedReply } from '../../src/worker/index.ts'
import {
  call,
  endings,
  type FaultModel,
  type FaultSession,
  type FaultSessions,
  ofType,
  openFaultSessions,
  requestsFor,
  rounds,
  saidIn,
  words,
} from '../support/fault-sessions.ts'

// Theme H: what a summarizer answers instead of a summary. Nothing of it may become the memory of a session.

let faults: FaultSessions
before(async () => {
  faults = await openFaultSessions()
})
after(() => faults.close())

const done = () => 'Done.'
const GOOD = 'Questions were answered. Next: go on.'

async function seeded(model: Partial<FaultModel>, start: object = {}): Promise<FaultSession> {
  const fault = await faults.open({ window: 60_000, reply: done, ...model }, start)
  await fault.seed(rounds(6, 700))
  return fault
}

/** The session is unchanged, says why, and works on. */
async function refusedAs(fault: FaultSession, reason: RegExp, calls: number): Promise<void> {
  const before = await faults.store.surface(fault.session.id)
  await assert.rejects(fault.session.compactNow(), (error: unknown) => {
    assert.ok(error instanceof ManualCompactionError)
    assert.equal(error.code, 'summary')
    assert.match(error.message, reason)
    return true
  })
  const { nodes } = await faults.store.surface(fault.session.id)
  assert.deepEqual(nodes, before.nodes)
  assert.equal((await fault.say('Go on.')).reason, 'completed')
  const events = await fault.sound()
  assert.deepEqual(endings(events), ['summary'])
  assert.equal(ofType(events, 'compact/call').length, calls, 'every paid answer is in the log')
  assert.deepEqual(fault.ran, [], 'no call of a summary runs')
}

const bad: readonly (readonly [
  ids: string,
  what: string,
  reply: ScriptedReply,
  reason: RegExp,
  calls?: number,
])[] = [
  ['fault H02', 'an answer without any block', { content: [], stopReason: 'end_turn' }, /blank/],
  [
    'fault H03',
    'text that ends in mid-word',
    { content: [text(`${words(1_500)} and then the aut`)], stopReason: 'max_tokens' },
    /truncated/,
  ],
  [
    'fault H03',
    'text that a stop sequence ended',
    { content: [text(GOOD)], stopReason: 'stop_sequence' },
    /truncated/,
  ],
  [
    'fault H04',
    'reasoning that took the whole room',
    {
      content: [{ type: 'thinking', thinking: words(1_000), signature: 'c2lnbmVk' }],
      stopReason: 'max_tokens',
    },
    /truncated/,
  ],
  [
    'fault H06',
    'a call in markup',
    '<function_calls><invoke name="bash"><parameter name="command">ls</parameter></invoke></function_calls>',
    /markup/,
  ],
  [
    'fault H06',
    'a call in DSML',
    '<｜DSML｜function_calls><｜DSML｜invoke name="bash"></｜DSML｜invoke>',
    /markup/,
  ],
  ['fault H06', 'a call in JSON', '{"name": "bash", "arguments": {"command": "ls"}}', /markup/],
  [
    'fault H06',
    'prose with one call inside',
    `${GOOD}\n\n<invoke name="bash"><parameter name="command">ls</parameter></invoke>`,
    /markup/,
  ],
  ['fault H07', 'a call', { content: [call('s1')] }, /tool-use/],
  [
    'fault H07',
    'a text and a call',
    { content: [text(GOOD), call('s1')], stopReason: 'end_turn' },
    /tool-use/,
  ],
  [
    'fault H09',
    'a refusal in words',
    `I'm sorry, but I can't help with summarizing this conversation. ${words(450)}`,
    /refusal/,
    1,
  ],
  ['fault H09', 'a refusal by stop reason', { content: [text(GOOD)], stopReason: 'refusal' }, /refusal/, 1],
]

describe('bad summaries', { concurrency: 3 }, () => {
  for (const [ids, what, reply, reason, calls = 2] of bad) {
    test(`${ids}: ${what} is refused, with its reason, and changes nothing`, async () => {
      await refusedAs(await seeded({ summary: reply }), reason, calls)
    })
  }

  test('fault H06 fault H09: what was refused is in no later summary request', async () => {
    let asked = 0
    const fault = await seeded({
      summary: () => (asked++ === 0 ? `<invoke name="bash">POISON</invoke>` : GOOD),
    })
    assert.ok(await fault.session.compactNow())
    await fault.seed(rounds(4, 700))
    assert.ok(await fault.session.compactNow())
    for (const request of fault.requests) assert.doesNotMatch(saidIn(request), /POISON/)
    await fault.sound()
  })

  test('fault H09: a model that refuses, where the policy allows another route: code writes the checkpoint', async () => {
    const summary = { content: [text(GOOD)], stopReason: 'refusal' }
    const fault = await seeded({ summary }, { policy: { summaryFallback: 'always' } })
    const result = await fault.session.compactNow()
    assert.equal(result?.model, 'deterministic')
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    const events = await fault.sound()
    assert.deepEqual(endings(events), ['compacted'])
    assert.equal(ofType(events, 'compact/call')[0]?.data.refusedBecause, 'refusal')
  })

  for (const [what, message] of [
    ['before its first event', 'stream closed before message_start'],
    ['in its middle', 'read ECONNRESET'],
  ] as const) {
    test(`fault H02 fault H08: the connection of the summary breaks ${what}: asked again, and only a whole answer becomes the memory`, async () => {
      let asked = 0
      const fault = await seeded({
        summary: () => {
          if (asked++ === 0) throw new Error(message)
          return GOOD
        },
      })
      const result = await fault.session.compactNow()
      assert.deepEqual(result?.summary, [text(GOOD)])
      const events = await fault.sound()
      assert.deepEqual(endings(events), ['compacted'])
      assert.doesNotMatch(JSON.stringify(events), new RegExp(message))
    })
  }

  test('fault H08: a rate limit that stays is a failure, and its text is no summary', async () => {
    const fault = await seeded({
      summary: () => {
        throw new SessionError('ModelFailed', '429 rate limit: try later', { retryable: false })
      },
    })
    await refusedAs(fault, /429 rate limit/, 0)
    const { nodes } = await faults.store.surface(fault.session.id)
    assert.doesNotMatch(JSON.stringify(nodes), /429/)
  })

  test('fault H08: a span of replies and results alone is summarized like any other, and kept when that fails', async () => {
    const steps = Array.from({ length: 6 }, (_, n) => [
      [text(`Step ${n}.`), call(`c${n}`)],
      { resultOf: `c${n}`, content: words(600) },
    ]).flat()
    let good = false
    const fault = await faults.open({
      window: 60_000,
      reply: done,
      summary: () => (good ? GOOD : { content: [], stopReason: 'end_turn' }),
    })
    await fault.seed([...steps, [text('So far.')]])
    await refusedAs(fault, /blank/, 2)
    good = true
    assert.ok(await fault.session.compactNow())
    await fault.say('And on.')
    await fault.sound()
  })

  test('fault H04 fault H05: the room of a summary has its reasoning on top, and never more than its model can write', async () => {
    const sampling = { thinking: { type: 'enabled', budget_tokens: 3_000 } }
    const thinking = { type: 'thinking', thinking: words(2_900), signature: 'c2lnbmVk' }
    const summary = { content: [thinking, text(GOOD)] }
    const policy = { summaryMaxTokens: 2_000 }
    const roomy = await seeded({ maxOutputTokens: 64_000, summary }, { sampling, policy })
    assert.ok(await roomy.session.compactNow())
    assert.deepEqual(
      requestsFor('summary', roomy).map(({ maxTokens }) => maxTokens),
      [5_000],
    )
    const tight = await seeded(
      { maxOutputTokens: 1_500, summary: GOOD },
      { policy: { replyMaxTokens: 1_000 } },
    )
    assert.ok(await tight.session.compactNow())
    assert.deepEqual(
      requestsFor('summary', tight).map(({ maxTokens }) => maxTokens),
      [1_500],
    )
    await roomy.sound()
    await tight.sound()
  })

  test('fault H13: nothing in a checkpoint looks like a call that could be imitated', async () => {
    const fault = await faults.open({ window: 60_000, reply: done })
    const steps = Array.from({ length: 6 }, (_, n) => [
      [text(`Step ${n}.`), call(`c${n}`, { command: `make target-${n}`, path: `src/file-${n}.ts` })],
      { resultOf: `c${n}`, content: `src/file-${n}.ts: error TS2322 ${words(600)}` },
    ]).flat()
    await fault.seed(['Fix it.', ...steps, [text('So far.')]])
    assert.ok(await fault.session.compactNow())
    await fault.say('Go on.')
    const [first] = requestsFor('turn', fault).at(-1)?.messages ?? []
    const checkpoint = first?.content.filter(isText).map((block) => block.text) ?? []
    assert.match(checkpoint.join('\n'), /file-\d\.ts/)
    for (const said of checkpoint) assert.ok(!holdsCallMarkup(said))
    assert.doesNotMatch(checkpoint.join('\n'), /work\(|work \{|tool call|\[tool/i)
    await fault.sound()
  })

  test('fault H13: a last reply that writes a call as text is flagged, and the one after it is not', async () => {
    const said = [
      'Now the tests.\n<invoke name="work"><parameter name="command">make</parameter></invoke>',
      '[Previous: used work; history {"seq": 12} reads its result]',
      'Such a call is written as ```\n<invoke name="work">\n```, and `[TOOL_CALLS]` elsewhere.',
    ]
    const fault = await faults.open({ window: 60_000, reply: ({ index }) => said[index] ?? 'Done.' })
    for (const _ of [...said, 'more']) assert.equal((await fault.say('Go on.')).reason, 'completed')
    const notices = ofType(await fault.sound(), 'session/notice')
    assert.deepEqual(
      notices.map(({ data, turn }) => [data.code, turn]),
      [
        ['call-as-text', 1],
        ['call-as-text', 2],
      ],
    )
    assert.match(
      notices[0]?.data.message ?? '',
      /turn 1 writes a call as text, so nothing was run: "<invoke name=/,
    )
  })
})
