import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError'
import { z } from 'zod'
import { fileTools, type WorkerTool } from '../../src/worker/index.ts'
import { eventually } from '../support/eventually.ts'
import { Gate } from '../support/gate.ts'
import { ofType } from '../support/of-type.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'
import { callingModel, callsOf, resultsOf } from '../support/tool-calls.ts'

// How tools run, in real sessions: runnable tools of the Anthropic SDK as they are, time-outs, retries, cancel.

const model = callingModel()
const stuck = new Gate()
let tries = 0
let closed = 0
let real: RealSessions
const folder = () => real.folder

const runnable: readonly WorkerTool[] = [
  betaZodTool({
    name: 'add',
    description: 'Adds.',
    inputSchema: z.object({ a: z.number(), b: z.number().default(1) }),
    run: async ({ a, b }, context) => `${a + b} for ${context?.toolUse.id}`,
    close: () => {
      closed++
    },
  }),
  betaTool({
    name: 'picture',
    description: 'Draws.',
    inputSchema: { type: 'object', properties: { of: { type: 'string' } }, required: ['of'] },
    run: ({ of }) => [
      { type: 'text', text: `A picture of ${of}` },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    ],
  }),
  betaTool({
    name: 'refuses',
    description: 'Refuses.',
    inputSchema: { type: 'object' },
    run: () => {
      throw new ToolError([{ type: 'text', text: 'not today' }])
    },
  }),
  {
    ...betaTool({
      name: 'flaky',
      description: 'Works at its third try.',
      inputSchema: { type: 'object' },
      run: () => {
        if (++tries < 3) throw new Error(`try ${tries} failed`)
        return `try ${tries} worked`
      },
    }),
    idempotent: true,
    retries: 2,
  },
  {
    ...betaTool({
      name: 'never',
      description: 'Never works.',
      inputSchema: { type: 'object' },
      run: async () => Promise.reject(new Error('still down')),
    }),
    idempotent: true,
    retries: 1,
  },
]

const text = { jsonSchema: { type: 'object' } }
const own: readonly WorkerTool[] = [
  {
    name: 'deaf',
    description: 'Ignores its signal.',
    input: text,
    timeoutMs: 200,
    run: () => new Promise<string>(() => undefined),
  },
  {
    name: 'stuck',
    description: 'Ignores its signal, and has time.',
    input: text,
    async run() {
      await stuck.wait()
      return 'too late'
    },
  },
  {
    name: 'slow_first',
    description: 'The first call waits for the others.',
    input: text,
    async run(input, { sessionId }) {
      const { n } = input as { n: number }
      const landed = () => real.store.countEvents(sessionId, 'tool/result')
      if (n === 0) await eventually(landed, (count) => count === 3)
      return `call ${n}`
    },
  },
]

before(async () => {
  real = await openRealSessions({ scripted: model }, [
    ...runnable,
    ...own,
    ...fileTools(process.cwd()).filter(({ name }) => name === 'run_command'),
  ])
})
after(async () => {
  stuck.open()
  await real.close()
  assert.equal(closed, 1, 'a runnable tool is closed once, with the worker')
})

const call = async (...calls: readonly (readonly [string, object])[]) => {
  const session = await real.start()
  const turn = await session.prompt(callsOf(calls))
  const { reason, error } = await turn.result({ timeoutMs: 120_000 })
  assert.deepEqual([reason, error], ['completed', undefined])
  return { session, results: await resultsOf(real, session) }
}

describe('a runnable tool of the Anthropic SDK', { concurrency: true }, () => {
  test('runs as it is: its input parsed, its context filled, its blocks kept', async () => {
    const { session, results } = await call(['add', { a: 2 }], ['picture', { of: 'a cat' }])
    assert.deepEqual(
      results.map(({ text: said, isError }) => [said, isError]),
      [
        ['3 for c0', false],
        ['A picture of a cat', false],
      ],
    )
    assert.equal(results[1]?.content.at(-1)?.type, 'image')
    const row = await real.store.session(session.id)
    const offered = row?.header.tools.find(({ name }) => name === 'add')
    assert.equal(offered?.description, 'Adds.')
    assert.deepEqual(Object.keys((offered?.inputSchema['properties'] as object) ?? {}), ['a', 'b'])
  })

  test('whose input does not fit does not run: the model reads which field', async () => {
    const { results } = await call(['add', { a: 'two' }])
    assert.match(results[0]?.text ?? '', /^The input of add is not valid: .*expected number.*at a/s)
    assert.equal(results[0]?.isError, true)
  })

  test('that throws a ToolError: its own content, as an error', async () => {
    const { results } = await call(['refuses', {}])
    assert.deepEqual([results[0]?.text, results[0]?.isError], ['not today', true])
  })
})

describe('a tool', { concurrency: true }, () => {
  test('with retries is run again after a failure, and its answer is the one that worked', async () => {
    const { results, session } = await call(['flaky', {}])
    assert.deepEqual([results[0]?.text, results[0]?.isError], ['try 3 worked', false])
    const claims = (await real.log(session)).filter(({ type }) => type === 'tool/claim')
    assert.equal(claims.length, 1, 'one claim for all attempts')
  })

  test('with retries that fails each time: the last error is its result', async () => {
    const { results } = await call(['never', {}])
    assert.deepEqual([results[0]?.text, results[0]?.isError], ['never failed: still down', true])
  })

  test('that ignores its signal holds neither the turn at its time-out', async () => {
    const { results } = await call(['deaf', {}])
    assert.match(results[0]?.text ?? '', /deaf did not answer within 200 ms/)
  })

  test('nor one that is cancelled: the turn ends, and the session takes the next prompt', async () => {
    const session = await real.start()
    const turn = await session.prompt(callsOf([['stuck', {}]]))
    await stuck.reached
    await session.cancelTurn({ reason: 'enough' })
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'aborted')
    const next = await session.prompt('Go on.')
    assert.equal((await next.result({ timeoutMs: 120_000 })).reason, 'completed')
  })

  test('results of one step reach the model in the order of its calls, whichever ends first', async () => {
    const { session } = await call(...[0, 1, 2, 3].map((n) => ['slow_first', { n }] as const))
    const landed = ofType(await real.log(session), 'tool/result')
    assert.equal(landed.at(-1)?.data.callId, 'c0', 'the first call has ended last')
    const said = model.requests(session.id).at(-1)?.messages.at(-1)?.content ?? []
    assert.deepEqual(
      said.map((block) => (block['content'] as { text: string }[])[0]?.text),
      ['call 0', 'call 1', 'call 2', 'call 3'],
    )
  })
})

describe('run_command', { concurrency: true }, () => {
  const isAlive = (pid: number) => {
    try {
      process.kill(pid, 0)
      return true
    } catch {
      return false
    }
  }
  const pidIn = async (path: string) =>
    Number(
      await eventually(
        () => readFile(path, 'utf8').catch(() => ''),
        (pid) => pid.trim() !== '',
      ),
    )

  test('a cancelled turn kills the command with all that it started, even what ignores SIGTERM', async () => {
    const pidFile = join(folder(), 'pid')
    const session = await real.start()
    const command = `trap '' TERM; sh -c "trap '' TERM; echo \\$\\$ > ${pidFile}; while :; do sleep 1; done" & wait; wait`
    const turn = await session.prompt(callsOf([['run_command', { command }]]))
    const pid = await pidIn(pidFile)
    const cancelledAt = performance.now()
    await session.cancelTurn()
    await eventually(
      () => isAlive(pid),
      (alive) => !alive,
    )
    assert.ok(performance.now() - cancelledAt < 30_000, 'long before its time-out of two minutes')
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'aborted')
  })

  test('a process that it leaves in the background does not hold the call', async () => {
    const pidFile = join(folder(), 'left')
    const began = performance.now()
    const { results } = await call([
      'run_command',
      { command: `sleep 90 & echo $! > ${pidFile}; echo started` },
    ])
    const pid = await pidIn(pidFile)
    try {
      assert.ok(performance.now() - began < 60_000, 'not as long as what it started')
      assert.match(
        results[0]?.text ?? '',
        /^started\n\[what it started in the background runs on.*\[exit code 0\]$/s,
      )
      assert.ok(isAlive(pid))
    } finally {
      process.kill(pid)
    }
  })
})
