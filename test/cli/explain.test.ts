import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { type ActivityStage, openStage, RUN_1, SESSION } from '../support/activity-stage.ts'
import { runCommand } from '../support/run-cli.ts'

// What a person learns of a compaction and of the context, from the store alone: no server runs here.

const folder = mkdtempSync(join(tmpdir(), 'dc-explain-'))
const path = join(folder, 'sessions.db')
const prices = join(folder, 'prices.json')

const words: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => `src/alpha/${'word '.repeat(2_500)}`,
}
const usage = { inputTokens: 1_000, outputTokens: 500, cacheReadTokens: 20_000, cacheWriteTokens: 0 }
/** The first summary is refused, the second accepted. */
let summaries = 0
const model = scriptedModel(
  ({ index }) =>
    index % 2 === 0
      ? { content: [{ type: 'tool_use', id: `c${index}`, name: 'words', input: {} }] }
      : 'Done.',
  {
    capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 },
    summaries: () => ({
      content: [{ type: 'text', text: summaries++ === 0 ? ' ' : 'Words were read.\u001b[2J Next: nothing.' }],
      usage,
    }),
  },
)

async function talk(stage: ActivityStage, requestId: string): Promise<void> {
  const { turn } = await stage.run(RUN_1, 'sessionStartTurn', { requestId, message: 'Read them.' })
  const reply = await stage.run(RUN_1, 'sessionCallModel', { turn, step: 1 })
  if (reply.kind !== 'reply') return
  for (const { callId } of reply.calls) await stage.run(RUN_1, 'sessionRunTool', { turn, step: 1, callId })
  await stage.run(RUN_1, 'sessionCallModel', { turn, step: 2 })
}

/** As `sessionCompaction` runs its activities. */
async function compact(
  stage: ActivityStage,
  compactionId: string,
  cause: 'manual' | 'tool',
  requestIds: string[] = [],
) {
  const attempt = { compactionId, turn: null, cause, focus: 'the plan', requestIds, parent: RUN_1 }
  const child = { workflowId: `${SESSION}/compact/${compactionId}`, runId: compactionId }
  await stage.run(child, 'sessionPrepareCompaction', attempt)
  const made = await stage.run(child, 'sessionSummarize', attempt)
  await stage.run(child, 'sessionCommitCompaction', { ...attempt, paid: made.paid, deterministic: false })
}

before(async () => {
  const store = sqliteStore({ path })
  const stage = await openStage({ model, tools: [words], store })
  for (const id of ['a', 'b', 'c']) await talk(stage, id)
  for (const id of ['r', 'joined'])
    await store.putInbox({ sessionId: SESSION, requestId: id, kind: 'compaction', body: {} })
  const rows = [{ requestId: 'joined', state: 'done' as const, outcome: { compactionId: 'manual.r' } }]
  await store.settleInbox({ sessionId: SESSION, actor: RUN_1, rows })
  await compact(stage, 'manual.r', 'manual', ['r'])
  await talk(stage, 'd')
  await compact(stage, 't4.s1.tool.x', 'tool')
  await store.close()
  const price = { input: 10, output: 20, cacheRead: 1, cacheWrite: 0 }
  writeFileSync(prices, JSON.stringify({ date: 'today', models: { 'scripted/x': price } }))
})
after(() => rmSync(folder, { recursive: true, force: true }))

async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand([...args, '--store', path])
  assert.equal(code, 0, stderr)
  return stdout
}

const json = async (...args: string[]) => JSON.parse(await ok(...args, '--json'))

describe('explain', () => {
  test('who asked, what was replaced, kept, dropped and paid', async () => {
    const said = await ok('explain', `${SESSION}/compact/manual.r`, '--prices', prices)
    assert.match(
      said,
      /^compaction {2}manual\.r of s1: compacted\nasked by {4}a person \(request r, joined\)\nfocus {7}the plan\nwhen {8}20\d\d-.* UTC, between turns, took /,
    )
    assert.match(
      said,
      /^context {5}[\d,]+ → [\d,]+ tokens\nreplaced {4}\d+ messages of [\d,]+ tokens: #3 to #\d+\nkept {8}1 message of \d+ tokens: #\d+$/m,
    )
    assert.match(
      said,
      /^checkpoint {2}#\d+ of [\d,]+ tokens, summary by scripted\/x; stands for \d+ messages, #3 to #\d+\ndropped {5}left the context: 3 user messages, /m,
    )
    assert.match(
      said,
      /^paid {8}2 calls, \$0\.0800 \(prices of today\)\nevents {6}start #\d+, call #\d+, call #\d+, summary #\d+, checkpoint #\d+, end #\d+$/m,
    )
    assert.match(
      said,
      /^#\d+ +summary +scripted\/x +1,000 +20,000 +0 +500 +\$0\.0400 +refused: blank\n#\d+ +retry .*\$0\.0400 +accepted\n$/m,
    )
  })

  test('the newest one of a session, or one by its id; the same as JSON', async () => {
    assert.match(
      await ok('explain', SESSION),
      /^compaction {2}t4\.s1\.tool\.x of s1: compacted\nasked by {4}the model, by its tool compact\n/,
    )
    const account = await json('explain', SESSION, 'manual.r', '--prices', prices)
    assert.deepEqual(
      [account.cause, account.requestIds, account.focus, account.usd],
      ['manual', ['r', 'joined'], 'the plan', 0.08],
    )
    assert.equal(account.calls.length, 2)
    assert.deepEqual(account.calls[0].usage, usage)
    assert.equal(account.replaced.seqs.length, account.covers.messages)
    assert.equal(account.lost.counts['tool/result'], 3)
    assert.equal((await json('explain', SESSION, 'manual.r')).usd, null, 'our prices do not know this model')
  })

  test('an earlier checkpoint in the span counts as what it stands for', async () => {
    const { covers, replaced } = await json('explain', SESSION)
    assert.ok(covers.messages > replaced.seqs.length)
    assert.equal(covers.firstSeq, 3)
  })

  test('one that is not there: exit code 3, and where they are listed', async () => {
    const { code, stderr } = await runCommand(['explain', SESSION, 'manual.none', '--store', path])
    assert.equal(code, 3)
    assert.match(
      stderr,
      /^NotFound: Session s1 has no compaction "manual\.none": ".* history s1" lists them\.\n$/,
    )
  })
})

test('list: the sessions of the store, as a table and one JSON value a line', async () => {
  const table =
    /^session +model +state +turns +tokens paid +last activity \(UTC\)\n-.*\ns1 +scripted\/x +idle +4 +[\d,]+ +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d *\n$/
  assert.match(await ok('list'), table)
  const listed = await json('list', '--limit', '5')
  assert.deepEqual(
    [listed.sessionId, listed.model, listed.state, listed.turns],
    [SESSION, 'scripted/x', 'idle', 4],
  )
  assert.ok(listed.tokens > 0 && listed.updatedAt >= listed.createdAt)
  const none = join(folder, 'none.db')
  const { code, stdout } = await runCommand(['list', '--store', none])
  assert.deepEqual([code, stdout], [0, `No session is in the store ${none}.\n`])
  assert.equal(existsSync(none), false, 'it makes none')
})

test('history --json: the records of the API, one a line, newest first', async () => {
  const rows = (await ok('history', SESSION, '--json'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    rows.map(({ compactionId, outcome }) => [compactionId, outcome]),
    [
      ['t4.s1.tool.x', 'compacted'],
      ['manual.r', 'compacted'],
    ],
  )
  for (const row of rows) assert.ok(!('namespace' in row) && row.endedAt >= row.startedAt)
})

describe('what stands where', () => {
  test('context: each part, and what the next compactions would take', async () => {
    const said = await ok('context', SESSION)
    const parts = said
      .split('\n')
      .slice(2, 10)
      .map((line) => line.split(/ +/)[0])
    assert.deepEqual(parts, [
      'system',
      'tools',
      'checkpoint',
      'user',
      'assistant',
      'results',
      'images',
      'all',
    ])
    assert.match(
      said,
      /^pressure +none; compacts at 80,000\nnext compaction +would take nothing: .*\none by hand now +would take nothing: /m,
    )
    const { parts: tokens, reading, next, byHand, shortens } = await json('context', SESSION)
    assert.ok(tokens.checkpoint > 0 && tokens.tools > 0 && tokens.images === 0 && reading.limit === 80_000)
    assert.deepEqual([next.kind, byHand.kind, shortens], ['nothing', 'nothing', 0])
  })

  test('transcript: checkpoints where they were written, and what they replaced says so', async () => {
    const lines = (await ok('transcript', SESSION)).split('\n')
    const [checkpoint, second] = (await json('transcript', SESSION)).filter(
      ({ data }: { data: { source?: string } }) => data.source === 'durable-compaction/checkpoint',
    )
    assert.match(
      lines.join('\n'),
      new RegExp(`^#3 user Read them\\. \\[replaced by the checkpoint #${checkpoint.seq}\\]$`, 'm'),
    )
    assert.ok(lines.some((line) => line.startsWith(`#${checkpoint.seq} checkpoint `)))
    assert.equal(checkpoint.replacedBy, second.seq)
    assert.equal(second.replacedBy, undefined)
  })
})

test('context and preview say what prepare does, pins included', async () => {
  const pinned = join(folder, 'pinned.db')
  const store = sqliteStore({ path: pinned })
  const short: Tool = { ...words, run: async () => 'word '.repeat(1_100) }
  const policy = { pins: { texts: ['word '.repeat(1_250)] } }
  const stage = await openStage({ model, tools: [short], policy, store })
  await talk(stage, 'a')
  const looked = async (command: string) => {
    const { code, stdout, stderr } = await runCommand([command, SESSION, '--json', '--store', pinned])
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  const [{ byHand }, preview] = [await looked('context'), await looked('preview')]
  const attempt = {
    compactionId: 'manual.p',
    turn: null,
    cause: 'manual' as const,
    requestIds: [],
    parent: RUN_1,
  }
  const child = { workflowId: `${SESSION}/compact/manual.p`, runId: 'p' }
  const prepared = await stage.run(child, 'sessionPrepareCompaction', attempt)
  assert.equal(prepared.kind === 'done' && prepared.outcome.reason, 'too-small')
  assert.deepEqual([byHand.reason, preview.reason], ['too-small', 'too-small'])
  await store.close()
})
