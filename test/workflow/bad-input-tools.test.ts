import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { z } from 'zod'
import { type Session, SessionClient } from '../../src/client/index.ts'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { type ContentBlock, isText } from '../../src/shared/session/content.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'
import {
  createSessionWorker,
  type SessionWorkerOptions,
  scriptedModel,
  type WorkerTool,
} from '../../src/worker/index.ts'
import { failsAs } from '../support/fails-as.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'

// What models and tools get wrong, in real sessions. The model's next request is checked each time: it must be valid and fit.

const WINDOW = 64_000
const requests = new Map<string, ModelRequest[]>()

/** Calls what the newest prompt says, then stops. */
const model = scriptedModel(
  (request) => {
    requests.set(request.sessionId, [...(requests.get(request.sessionId) ?? []), request])
    const asked = request.messages.at(-1)?.content.at(-1)
    if (asked === undefined || !isText(asked) || !asked.text.startsWith('[')) return 'Done.'
    return { content: JSON.parse(asked.text) as ContentBlock[] }
  },
  { capacity: { contextWindow: WINDOW, maxOutputTokens: 4_000 } },
)

const MEGABYTE = 1_000_000
const ODD_BLOCKS = [
  { type: 'tool_use', id: 'x', name: 'long', input: {} },
  { type: 'resource_link', uri: 'file:///a' },
  { type: 'text' },
]
const WORDS_25K = 'word '.repeat(25_000)
let secretRuns = 0
const tool = (
  name: string,
  run: Tool['run'],
  input: Tool['input'] = { jsonSchema: { type: 'object' } },
): Tool => ({
  name,
  description: name,
  input,
  run,
})
const tools: readonly Tool[] = [
  tool('throws', async () => Promise.reject(new Error('the disk is on fire'))),
  tool('throws_at_once', () => {
    throw new TypeError('x is not a function')
  }),
  tool('huge', async () => 'x'.repeat(50 * MEGABYTE)),
  tool('huge_picture', async () => ({
    content: [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(20 * MEGABYTE) } },
    ],
  })),
  tool('long', async () => WORDS_25K),
  tool('nothing', async () => undefined as unknown as string),
  tool('odd_blocks', async () => ({ content: ODD_BLOCKS })),
  tool(
    'typed',
    async (input) => JSON.stringify(input),
    z.object({ path: z.string(), lines: z.number().optional() }),
  ),
  tool('quick', async () => 'ok'),
]
const secret = tool('secret', async () => {
  secretRuns++
  return 'secret'
})

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [...tools, secret])
})
after(() => real.close())

const startSession = () => real.start({ tools: tools.map(({ name }) => name) })

const call = (id: string, name: string, input: unknown = {}) => ({ type: 'tool_use', id, name, input })

type Result = SessionEvent<'tool/result'>

/** Runs the calls in one step and returns their results, in the order of the log. The session then takes another prompt. */
async function resultsOf(session: Session, calls: readonly object[]): Promise<Result[]> {
  const ended = await (await session.prompt(JSON.stringify(calls))).result({ timeoutMs: 120_000 })
  assert.deepEqual([ended.reason, ended.error], ['completed', undefined])
  const again = await (await session.prompt('Go on.')).result({ timeoutMs: 120_000 })
  assert.equal(again.reason, 'completed')
  const sent = requests.get(session.id) ?? []
  assert.deepEqual(
    sent.flatMap(({ messages }) => requestProblems(messages)),
    [],
  )
  const log = await allEvents(session)
  return log.filter(
    (event): event is Result => event.type === 'tool/result' && typeof event.surfaceOp !== 'object',
  )
}

const allEvents = (session: Session) => real.log(session)

const textOf = (result: Result | undefined) =>
  (result?.data.content ?? [])
    .filter(isText)
    .map((block) => block.text)
    .join('')

describe('a tool', { concurrency: true }, () => {
  test('that throws, at once or later: an error result with its message', async () => {
    const results = await resultsOf(await startSession(), [call('a', 'throws'), call('b', 'throws_at_once')])
    const said = new Map(results.map((result) => [result.data.callId, [result.data.isError, textOf(result)]]))
    assert.deepEqual(said.get('a'), [true, 'throws failed: the disk is on fire'])
    assert.deepEqual(said.get('b'), [true, 'throws_at_once failed: x is not a function'])
  })

  test('that returns nothing: an error result; blocks that no result can hold: their JSON; the next request is valid', async () => {
    const results = await resultsOf(await startSession(), [call('a', 'nothing'), call('b', 'odd_blocks')])
    const said = new Map(results.map((result) => [result.data.callId, result.data]))
    assert.equal(said.get('a')?.isError, true)
    assert.equal(said.get('b')?.isError, false)
    assert.deepEqual(
      said.get('b')?.content,
      ODD_BLOCKS.map((block) => ({ type: 'text', text: JSON.stringify(block) })),
    )
  })

  test('that returns 50 MB runs once: head and tail on the surface, 16 MiB in the log, the rest counted', async () => {
    const session = await startSession()
    const [result] = await resultsOf(session, [call('a', 'huge')])
    assert.equal(result?.data.isError, false)
    assert.ok((result?.tokens ?? 0) <= 0.15 * WINDOW, `${result?.tokens} tokens`)
    const log = await allEvents(session)
    const [output] = log.filter((event) => event.type === 'tool/output')
    assert.equal(output?.seq, result?.data.full)
    assert.match(
      textOf(result),
      new RegExp(`characters left out; history \\{"seq": ${output?.seq}\\} reads the whole `),
    )
    assert.ok(output?.type === 'tool/output')
    assert.equal(output.data.droppedBytes, 50 * MEGABYTE - 16 * 1024 * 1024)
    const claims = log.filter((event) => event.type === 'tool/claim')
    assert.deepEqual(
      claims.map((event) => event.type === 'tool/claim' && event.data.attempt),
      [1],
    )
  })

  test('that returns a picture of 20 MB: a sentence in its place', async () => {
    const [result] = await resultsOf(await startSession(), [call('a', 'huge_picture')])
    assert.match(textOf(result), /block of type image with 200000\d\d bytes was not kept/)
  })
})

describe('a call', { concurrency: true }, () => {
  test('with an invalid input does not run: the error says which field', async () => {
    const results = await resultsOf(await startSession(), [
      call('a', 'typed', { path: 5 }),
      call('b', 'typed', 'a.txt'),
      call('c', 'typed', null),
      call('d', 'typed', { path: 'a.txt' }),
    ])
    const said = new Map(results.map((result) => [result.data.callId, textOf(result)]))
    assert.match(said.get('a') ?? '', /input of typed is not valid.*path/s)
    assert.match(said.get('b') ?? '', /input of typed is not valid/)
    assert.match(said.get('c') ?? '', /input of typed is not valid/)
    assert.equal(said.get('d'), '{"path":"a.txt"}')
  })

  test('of an unknown tool, and of one that the session does not offer: an error that names what there is', async () => {
    const results = await resultsOf(await startSession(), [call('a', 'rm_rf'), call('b', 'secret')])
    for (const result of results) {
      assert.equal(result.data.isError, true)
      assert.match(textOf(result), /^There is no tool "(rm_rf|secret)"\. Tools: throws, /)
    }
    assert.equal(results.length, 2)
    assert.equal(secretRuns, 0, 'the worker has it, the session does not')
  })

  test('ids that come twice, in one step and over turns: each call has its own result', async () => {
    const session = await startSession()
    const twice = [call('same', 'quick'), call('same', 'typed', { path: 'b' }), call('same', 'rm_rf')]
    await resultsOf(session, twice)
    const results = await resultsOf(session, twice)
    const ids = results.map((result) => result.data.callId)
    assert.equal(results.length, 6)
    assert.equal(new Set(ids).size, 6, ids.join(' '))
    assert.equal(results.filter((result) => textOf(result) === '{"path":"b"}').length, 2)
  })

  test('300 calls in a step: 128 run, the others are told so, all are answered', async () => {
    const session = await startSession()
    const calls = Array.from({ length: 300 }, (_, i) => call(`c${i}`, 'quick'))
    const results = await resultsOf(session, calls)
    assert.equal(results.length, 300)
    assert.equal(results.filter((result) => textOf(result) === 'ok').length, 128)
    const refused = results.filter((result) => result.data.isError)
    assert.equal(refused.length, 172)
    assert.match(textOf(refused.at(-1)), /at most 128 calls, this is number 300/)
  })

  test('128 results of 25k tokens in one step: the window holds, and each result can be read back whole', async () => {
    const session = await startSession()
    const calls = Array.from({ length: 128 }, (_, i) => call(`c${i}`, 'long'))
    const results = await resultsOf(session, calls)
    const share = Math.floor(WINDOW / 2 / 128)
    for (const result of results) assert.ok(result.tokens <= share, `${result.tokens} of ${share}`)
    for (const { messages, maxTokens } of requests.get(session.id) ?? []) {
      assert.ok(countTokens(JSON.stringify(messages)) + maxTokens <= WINDOW, 'a request is above the window')
    }
    const log = await allEvents(session)
    assert.equal(
      log.filter((event) => event.type === 'compact/start').length,
      0,
      'nothing had to be compacted',
    )
    const outputs = new Map(log.map((event) => [event.seq, event]))
    for (const { data } of results) {
      const whole = outputs.get(data.full ?? -1)
      assert.equal(whole?.type === 'tool/output' && whole.data.content[0]?.['text'], WORDS_25K)
    }
  })
})

describe('tools that no session can be given', () => {
  const worker = (given: readonly WorkerTool[], options: SessionWorkerOptions['worker'] = {}) =>
    createSessionWorker({
      connection: real.connection,
      store: real.store,
      models: { scripted: model },
      tools: given,
      taskQueue: 'never',
      workflows: { workflowBundle: real.bundle },
      worker: options,
    })

  test('are refused when the worker starts: the names `compact` and `history`, a name twice, an odd name, an input without a schema', async () => {
    const run = async () => 'x'
    for (const name of ['compact', 'history'])
      await failsAs(
        'InvalidInput',
        worker([tool(name, run)]),
        new RegExp(`"${name}" is the session's own`),
        new RegExp(`another name. The policy's ${name}Tool says`),
      )
    await failsAs('InvalidInput', worker([tool('a', run), tool('a', run)]), /two tools "a"/)
    await failsAs('InvalidInput', worker([tool('a b', run)]), /1 to 128 characters/, /"a b"/)
    await failsAs('InvalidInput', worker([tool('a', run, z.date())]), /input of tool a has no JSON Schema/)
    await failsAs(
      'InvalidInput',
      worker([tool('a', run, z.string())]),
      /input of tool a must be an object, got "string"/,
    )
  })

  test('are refused when the worker starts: retries of what may not run twice, numbers that are none, a type of the provider', async () => {
    const quick = tool('quick', async () => 'x')
    await failsAs(
      'InvalidInput',
      worker([{ ...quick, retries: 1 }]),
      /quick has retries and is not idempotent: .* says `idempotent: true`/,
    )
    const often = { ...quick, idempotent: true, retries: 11 }
    await failsAs('InvalidInput', worker([often]), /retries of tool quick .* from 0 to 10, got 11/)
    await failsAs(
      'InvalidInput',
      worker([{ ...quick, timeoutMs: 0.5 }]),
      /timeoutMs of tool quick .*got 0\.5/,
    )
    const bash = { type: 'bash_20250124', name: 'bash', parse: (input: unknown) => input, run: () => 'x' }
    await failsAs('InvalidInput', worker([bash]), /Tool "bash" has the type "bash_20250124"/, /betaZodTool/)
  })

  test('of a worker that cannot be made are closed', async () => {
    let closed = 0
    const holds = { ...tool('holds', async () => 'x'), close: () => void closed++ }
    await failsAs('InvalidInput', worker([{ ...holds, retries: 1 }]), /holds has retries/)
    assert.equal(closed, 1)
    await assert.rejects(worker([holds], { shutdownGraceTime: 'soon' as '1s' }), /soon/)
    assert.equal(closed, 2)
  })

  test('a call of `compact` where the policy does not offer it runs nothing', async () => {
    const sessions = new SessionClient({
      client: real.client,
      store: real.store,
      taskQueue: real.taskQueue,
      workerTimeoutMs: 60_000,
    })
    const session = await sessions.start(`no-compact-${Date.now()}`, {
      model: 'scripted/x',
      tools: ['quick'],
      policy: { compactTool: false },
    })
    const [result] = await resultsOf(session, [call('a', 'compact', { focus: 'x' })])
    assert.match(textOf(result), /There is no tool "compact"\. Tools: quick, history\./)
    assert.equal((await session.state()).compactions, 0)
  })
})
