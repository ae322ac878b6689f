import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { isSessionError, type Session } from '../../src/client/index.ts'
import { text } from '../../src/shared/session/content.ts'
import { keys } from '../../src/shared/session/keys.ts'
import { anthropicModels } from '../../src/worker/index.ts'
import { type AnthropicServer, openAnthropicServer, reply, streamText } from '../support/anthropic/server.ts'
import { type StreamedReply, sse, streamEvents } from '../support/anthropic/stream-events.ts'
import { eventually } from '../support/eventually.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'
import { runCommand } from '../support/run-cli.ts'

// What a session says that it paid, against what the provider says that it used: over the wire, on the real server.

const MODEL = 'claude-sonnet-5-5'
const SUMMARIZER = 'claude-haiku-5-5'
const PATIENCE = { timeoutMs: 120_000 }

let wire: AnthropicServer
let real: RealSessions
/** What the provider told of the calls of the running test. */
let told: { requests: number; tokens: number }

before(async () => {
  wire = await openAnthropicServer()
  real = await openRealSessions({ anthropic: anthropicModels(wire.client()) })
})
after(async () => {
  await real.close()
  wire.close()
})

type Used = { readonly input: number; readonly cacheRead?: number; readonly output: number }

/** A reply with this usage, which is noted as told. */
function telling(model: string, words: string, { input, cacheRead = 0, output }: Used): StreamedReply {
  told = { requests: told.requests + 1, tokens: told.tokens + input + cacheRead + output }
  const usage = { input_tokens: input, cache_read_input_tokens: cacheRead, output_tokens: output }
  return { content: [text(words)], usage, model }
}

/** How the session's model and its summarizer answer. */
function answers(turn: (response: ServerResponse) => void, summary: (response: ServerResponse) => void) {
  told = { requests: 0, tokens: 0 }
  wire.answer = ({ body }, response) =>
    (body as { model?: string }).model === SUMMARIZER ? summary(response) : turn(response)
}

const start = () =>
  real.start({
    model: `anthropic/${MODEL}`,
    tools: [],
    policy: { summarizer: { provider: 'anthropic', model: SUMMARIZER }, compactTool: false },
  })

async function say(session: Session, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await (await session.prompt(`Question ${n}.`)).result(PATIENCE)
  await whenIdle(session)
}

const tokensOf = (used: { inputTokens: number; cacheReadTokens: number; outputTokens: number }) =>
  used.inputTokens + used.cacheReadTokens + used.outputTokens

/** The ledger, once it holds all that the provider told: a call that was cancelled is written down a moment after its turn has ended. */
async function wholeLedger(session: Session) {
  const { total, lines } = await eventually(
    () => session.usage(),
    (report) => report.total.requests === told.requests && tokensOf(report.total) === told.tokens,
  )
  assert.equal(total.unknownRequests, 0)
  return Object.fromEntries(lines.map((line) => [`${line.purpose} ${line.model}`, line]))
}

const ANSWER = 'word '.repeat(500)

test('fault R01: twelve turns and a compaction: its tokens are in the totals', async () => {
  answers(
    (response) => reply(response, telling(MODEL, ANSWER, { input: 100, cacheRead: 40, output: 10 })),
    (response) =>
      reply(response, telling(SUMMARIZER, 'Words. Next: none.', { input: 190_000, output: 2_000 })),
  )
  const session = await start()
  await say(session, 12)
  const compaction = await session.compactNow()
  assert.ok(compaction !== null)
  const ledger = await wholeLedger(session)
  const turns = ledger[`turn ${MODEL}`]
  const summaries = ledger[`summary ${SUMMARIZER}`]
  assert.ok(turns !== undefined && summaries !== undefined)
  assert.deepEqual([turns.requests, tokensOf(turns)], [12, 1_800])
  assert.deepEqual([summaries.requests, tokensOf(summaries)], [1, 192_000])
  assert.ok(Math.abs(turns.usd - (12 * (100 * 2 + 40 * 0.1 + 10 * 10)) / 1e6) < 1e-9)
  assert.ok(Math.abs(summaries.usd - (190_000 * 0.5 + 2_000 * 2.5) / 1e6) < 1e-9)
  const { usage } = await session.state()
  assert.ok(usage !== null)
  assert.deepEqual([usage.requests, tokensOf(usage)], [told.requests, told.tokens])
  const [record] = await session.compactions()
  assert.equal(record?.usage.outputTokens, 2_000)
  const { code, stdout } = await runCommand([
    'usage',
    session.id,
    '--store',
    join(real.folder, 'sessions.db'),
  ])
  assert.equal(code, 0)
  assert.match(stdout, /^turn +anthropic\/claude-sonnet-5-5 +12 +1,200 +480 +0 +120 +\$0\.0036$/m)
  assert.match(stdout, /^summary +anthropic\/claude-haiku-5-5 +1 +190,000 +0 +0 +2,000 +\$0\.1000$/m)
  assert.match(stdout, /, prices of \d{4}-\d\d-\d\d\.$/m)
})

test('fault R02: two refused summaries, then a good one: all three are counted, by what became of them', async () => {
  let summaries = 0
  answers(
    (response) => reply(response, telling(MODEL, ANSWER, { input: 100, output: 10 })),
    (response) =>
      summaries++ < 2
        ? reply(response, {
            ...telling(SUMMARIZER, 'Words, and then', { input: 3_000, output: 70 }),
            stopReason: 'max_tokens',
          })
        : reply(response, telling(SUMMARIZER, 'Words. Next: none.', { input: 3_000, output: 40 })),
  )
  const session = await start()
  await say(session, 4)
  await assert.rejects(session.compactNow(), { code: 'summary' })
  await whenIdle(session)
  assert.ok((await session.compactNow()) !== null)
  const ledger = await wholeLedger(session)
  assert.equal(ledger[`discarded ${SUMMARIZER}`]?.outputTokens, 140)
  assert.equal(ledger[`summary ${SUMMARIZER}`]?.outputTokens, 40)
  assert.equal(ledger[`turn ${MODEL}`]?.outputTokens, 40)
})

test('fault R02: a turn that was cancelled after 5,000 tokens of an answer', async () => {
  let reached = () => {}
  const begun = new Promise<void>((resolve) => {
    reached = resolve
  })
  answers(
    (response) => {
      const events = streamEvents(telling(MODEL, 'A long story.', { input: 700, output: 5_000 }))
      streamText(response, sse(events.filter(({ type }) => type !== 'message_stop')))
      reached()
    },
    () => assert.fail('nothing is compacted'),
  )
  const session = await start()
  const turn = await session.prompt('Tell me a story.')
  await begun
  await eventually(
    async () => (await real.store.deltas(session.id, keys.assistant(1, 1))).length,
    (count) => count > 0,
  )
  await session.cancelTurn()
  assert.equal((await turn.result(PATIENCE)).reason, 'aborted')
  const ledger = await wholeLedger(session)
  assert.deepEqual(Object.keys(ledger), [`discarded ${MODEL}`])
  assert.equal((await turn.result()).usage.outputTokens % 5_000, 0)
})

test('a session that is not there has no ledger', async () => {
  await assert.rejects(real.sessions.get('nobody').usage(), (error) =>
    isSessionError(error, 'SessionNotFound'),
  )
  wire.assertValid()
})
