import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import type { PolicyInput } from '../../src/shared/compaction/policy-input.ts'
import { text } from '../../src/shared/session/content.ts'
import { anthropicModels, openaiModels } from '../../src/worker/index.ts'
import { type AnthropicServer, openAnthropicServer, refuse, reply } from '../support/anthropic/server.ts'
import { type ChatAnswer, type ChatServer, openChatServer, refuses, says } from '../support/chat-server.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'
import { runCommand } from '../support/run-cli.ts'
import { assertWhole, ofType } from '../support/whole-log.ts'

// A summarizer that fails and another one behind it, with nothing fake but what the two servers say: real workflows, real store, real HTTP, both official SDKs.

const MODEL = 'claude-sonnet-5-5'
const SUMMARIZER = 'claude-haiku-5-5'
const PATIENCE = { timeoutMs: 120_000 }

let claude: AnthropicServer
let local: ChatServer
let real: RealSessions
before(async () => {
  claude = await openAnthropicServer()
  local = await openChatServer()
  real = await openRealSessions({
    anthropic: anthropicModels(claude.client()),
    local: openaiModels(local.api, { capacities: { small: { contextWindow: 6_000 } } }),
  })
})
after(async () => {
  await real.close()
  claude.close()
  await local.close()
})

/** Turns are answered by the first server; its summarizer refuses each request; `second` is what the other server says. */
async function spoken(
  refusal: { readonly status: number; readonly type: string; readonly message: string },
  second: ChatAnswer,
  fallback = 'local-1',
): Promise<{ readonly session: Session; readonly refused: () => number }> {
  let refusals = 0
  const isRefused = ({ body }: { readonly body: object }) =>
    (body as { model?: unknown }).model === SUMMARIZER
  const refused = (response: ServerResponse) => {
    refusals++
    refuse(response, refusal.status, refusal.type, refusal.message)
  }
  claude.answer = (request, response) =>
    isRefused(request)
      ? refused(response)
      : reply(response, { model: MODEL, content: [text('word '.repeat(900))] })
  local.answer = second
  local.bodies.splice(0)
  const session = await real.start({
    model: `anthropic/${MODEL}`,
    tools: [],
    policy: {
      summarizer: { provider: 'anthropic', model: SUMMARIZER },
      summarizerFallbacks: [{ provider: 'local', model: fallback }],
      summaryMaxTokens: 1_000,
      compactTool: false,
      historyTool: false,
    },
  })
  for (let n = 0; n < 6; n++)
    assert.equal((await (await session.prompt(`Question ${n}.`)).result(PATIENCE)).reason, 'completed')
  await whenIdle(session)
  return { session, refused: () => refusals }
}

const wire = () => {
  claude.assertValid()
  assert.deepEqual(local.problems.splice(0), [])
}

for (const [what, refusal, reason] of [
  [
    '401 always',
    { status: 401, type: 'authentication_error', message: 'invalid x-api-key' },
    'authentication',
  ],
  ['529 always', { status: 529, type: 'overloaded_error', message: 'Overloaded' }, 'overloaded'],
] as const)
  test(`the summarizer answers ${what}: the next model writes, and the log, history, explain and usage say both`, async () => {
    const { session, refused } = await spoken(refusal, says('Words were said. Next: nothing.'))
    const result = await session.compactNow({ whenBusy: 'wait' })
    assert.deepEqual(result?.failedModels, [{ provider: 'anthropic', model: SUMMARIZER, reason }])
    assert.equal(result?.model, 'local-1')
    assert.ok(refused() > 0)

    const events = await assertWhole(real, session)
    const [summary] = ofType(events, 'compact/summary')
    assert.deepEqual([summary?.data.provider, summary?.data.model], ['local', 'local-1'])
    const [call, ...more] = ofType(events, 'compact/call')
    assert.deepEqual([call?.data.provider, call?.data.accepted, more], ['local', true, []])
    const notices = ofType(events, 'session/notice').filter(({ data }) => data.code === 'summarizer-failed')
    assert.deepEqual(
      notices.map(({ data }) => [data.failed?.model, data.failed?.reason]),
      [[SUMMARIZER, reason]],
    )

    await whenIdle(session)
    const failed = `anthropic/${SUMMARIZER} (${reason})`
    const [record] = await session.compactionHistory()
    assert.deepEqual([record?.model, record?.failedModels], ['local/local-1', failed])
    const { lines } = await session.usage()
    assert.deepEqual(
      lines.map(({ purpose, provider, model, requests }) => [purpose, provider, model, requests]),
      [
        ['turn', 'anthropic', MODEL, 6],
        ['summary', 'local', 'local-1', 1],
      ],
    )
    const store = ['--store', join(real.folder, 'sessions.db')]
    const explained = await runCommand(['explain', session.id, ...store])
    assert.match(explained.stdout, /summary by local\/local-1/)
    assert.match(explained.stdout, new RegExp(`^failed +anthropic/${SUMMARIZER} \\(${reason}\\)$`, 'm'))
    const history = await runCommand(['history', session.id, ...store])
    assert.ok(history.stdout.includes(`compacted by local/local-1, after ${failed}`), history.stdout)

    await (await session.prompt('Go on.')).result(PATIENCE)
    const last = claude.received.findLast(({ body }) => (body as { model?: unknown }).model === MODEL)
    assert.match(last?.json ?? '', /Words were said\. Next: nothing\./)
    wire()
  })

test('the next model has a smaller window: parts of its own, and their merge', async () => {
  const refusal = { status: 404, type: 'not_found_error', message: `model: ${SUMMARIZER}` }
  const { session } = await spoken(refusal, says('Words were said. Next: nothing.'), 'small')
  assert.ok((await session.compactNow({ whenBusy: 'wait' })) !== null)
  const events = await assertWhole(real, session)
  const calls = ofType(events, 'compact/call').map(({ data }) => data)
  assert.ok(calls.filter(({ purpose }) => purpose === 'chunk').length > 1)
  assert.equal(calls.at(-1)?.purpose, 'merge')
  assert.ok(
    calls.every(({ provider, model, accepted }) => provider === 'local' && model !== MODEL && accepted),
  )
  const [header] = ofType(events, 'request/header')
  assert.deepEqual(header?.data.policy.summarizerFallbacks, [
    { provider: 'local', model: 'small', window: 6_000 },
  ])
  wire()
})

test('both fail: nothing is compacted, the message names both, and the session goes on', async () => {
  const refusal = { status: 401, type: 'authentication_error', message: 'invalid x-api-key' }
  const { session } = await spoken(refusal, refuses(402, { message: 'no credit' }))
  const { nodes } = await real.store.surface(session.id)
  await assert.rejects(
    session.compactNow({ whenBusy: 'wait' }),
    (error: { code?: unknown; message?: unknown }) => {
      assert.equal(error.code, 'summary')
      assert.match(String(error.message), new RegExp(`anthropic/${SUMMARIZER} .*authentication`))
      assert.match(String(error.message), /local\/local-1 .*billing/)
      return true
    },
  )
  assert.deepEqual((await real.store.surface(session.id)).nodes, nodes)
  assert.equal((await (await session.prompt('Go on.')).result(PATIENCE)).reason, 'completed')
  await assertWhole(real, session)
  wire()
})

test('configure: the list is checked as at the start, and what is refused changes nothing', async () => {
  const session = await real.start({ model: `anthropic/${MODEL}`, tools: [] })
  const contradictions: readonly [PolicyInput, RegExp][] = [
    [
      { summarizerFallbacks: [{ provider: 'anthropic', model: MODEL }] },
      /summarizerFallbacks\[0\] must not name the model that writes the summaries/,
    ],
    [
      { summarizer: 'deterministic', summarizerFallbacks: [{ provider: 'local', model: 'local-1' }] },
      /summarizerFallbacks must be empty beside summarizer "deterministic"/,
    ],
    [{ summarizerFallbacks: [{ provider: 'nobody', model: 'x' }] }, /summarizerFallbacks\[0\]: .*"nobody"/],
  ]
  for (const [policy, sentence] of contradictions)
    await assert.rejects(session.configure({ policy }), sentence)
  await session.configure({ policy: { summarizerFallbacks: [{ provider: 'local', model: 'small' }] } })
  const headers = ofType(await real.log(session), 'request/header')
  assert.deepEqual(
    headers.map(({ data }) => data.policy.summarizerFallbacks),
    [[], [{ provider: 'local', model: 'small', window: 6_000 }]],
  )
})
