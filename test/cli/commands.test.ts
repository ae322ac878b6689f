import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { foldLog } from '../../src/shared/session/log.ts'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import { eventually } from '../support/eventually.ts'
import { type CliRun, runCli, runCommand, type StartedCli, startCli } from '../support/run-cli.ts'

// The command line as a person has it, against one `dev` that the commands find by themselves. Processes of their own where it matters; the others run
// here, by the same program, which saves a second of loading each.

const home = mkdtempSync(join(tmpdir(), 'dc-commands-'))
const ENV = {
  DURABLE_COMPACTION_HOME: home,
  DURABLE_COMPACTION_STORE: undefined,
  TEMPORAL_ADDRESS: undefined,
  TEMPORAL_NAMESPACE: undefined,
}
const started = new Set<StartedCli>()

let dev: StartedCli
before(
  async () => {
    for (const [name, value] of Object.entries(ENV)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    dev = startCli(['dev', '--root', home])
    await dev.says(/Ctrl-C ends it/)
  },
  { timeout: 120_000 },
)
after(async () => {
  for (const command of started) command.kill()
  dev.interrupt()
  const late = sleep(20_000, undefined, { ref: false }).then(() => dev.kill())
  await Promise.race([dev.done, late])
  rmSync(home, { recursive: true, force: true })
  // A command that still waits in this process, after a test that failed, must not keep the file open.
  setTimeout(() => process.exit(1), 20_000).unref()
})

/** For one test; each takes a few seconds on a calm machine. */
const LIMIT = { timeout: 120_000 }

const run = (...args: string[]): Promise<CliRun> => runCommand(args)

const ok = (...args: string[]): Promise<string> => well(args, run(...args))
const okAsProcess = (...args: string[]): Promise<string> => well(args, runCli(args))

async function well(args: readonly string[], running: Promise<CliRun>): Promise<string> {
  const { code, stdout, stderr } = await running
  assert.equal(code, 0, `${args.join(' ')}\n${stdout}\n${stderr}`)
  return stdout
}

/** The value that it prints with `--json`: one line, and nothing beside it. */
async function json(...args: string[]) {
  const stdout = await ok(...args, '--json')
  assert.match(stdout, /^[^\n]+\n$/)
  return JSON.parse(stdout)
}

function start(...args: string[]): StartedCli {
  const command = startCli(args)
  started.add(command)
  return command
}

/** What a person reads of a failure: one line, after notes about what takes long; no stack, no colours in a pipe. */
async function fails(code: number, pattern: RegExp, words: string): Promise<void> {
  const failed = await run(...words.split(' '))
  assert.equal(failed.code, code, `${words}\n${failed.stdout}\n${failed.stderr}`)
  assert.equal(failed.stdout, '')
  assert.match(failed.stderr, new RegExp(pattern.source, 'm'))
  assert.doesNotMatch(failed.stderr, /\n\s+at /)
}

const parts = (letter: string) =>
  `${letter} ${Array.from({ length: 700 }, (_, i) => `${letter}${i}`).join(' ')}`
const lines = (text: string) => text.trimEnd().split('\n')

describe('a first conversation', () => {
  test('start and prompt as dev says; the same id again gives the same answer', LIMIT, async () => {
    assert.match(
      await ok('start', 'hello', '--model', 'scripted/echo'),
      /^Session hello runs\. Talk to it: .* prompt hello/,
    )
    assert.equal(await okAsProcess('prompt', 'hello', 'Is anybody there?'), 'You said: "Is anybody there?"\n')
    const again = () => json('prompt', 'hello', 'once', '--id', 'r1')
    const [first, second] = [await again(), await again()]
    assert.deepEqual(first, second)
    assert.deepEqual([first.requestId, first.turn, first.reason], ['r1', 2, 'completed'])
    const piped = await runCli(['prompt', 'hello', '-'], {}, 'from a pipe\n')
    assert.equal(piped.stdout, 'You said: "from a pipe"\n')
  })

  test('what the session was and is', LIMIT, async () => {
    const [state, transcript, context, history] = [
      await stateOf('hello', /^status +idle$/m),
      await okAsProcess('transcript', 'hello'),
      await ok('context', 'hello'),
      await ok('history', 'hello'),
    ]
    assert.match(state, /^session +hello \(life 1\)\nstatus +idle\nmodel +scripted\/echo\n/)
    assert.deepEqual(lines(transcript).slice(0, 2), [
      '#3 user Is anybody there?',
      '#5 model You said: "Is anybody there?"',
    ])
    assert.match(context, /^part +tokens +share\n[\s\S]*^user +\d+ +\d+ %$/m)
    assert.match(context, /^pressure +none; compacts at 25,600\nnext compaction +would take nothing: /m)
    assert.equal(history, 'Session hello has not compacted.\n')
    assert.match(state, /^paid +3 requests, [\d,]+ tokens in, \d+ out; price not known$/m)
    assert.match(await ok('usage', 'hello'), /^turn +scripted\/echo +3 +[\d,]+ +0 +0 +\d+ *$/m)
  })

  test('the same as JSON', LIMIT, async () => {
    const [state, usage, transcript, context, history] = [
      await json('state', 'hello'),
      await json('usage', 'hello'),
      await json('transcript', 'hello'),
      await json('context', 'hello'),
      await ok('history', 'hello', '--json'),
    ]
    assert.deepEqual(
      [state.live.status, state.stored.turns, state.stored.model],
      ['idle', 3, 'scripted/echo'],
    )
    assert.deepEqual([state.stored.usage.requests, usage.total.requests, usage.total.usd], [3, 3, 0])
    assert.equal(transcript.length, 6)
    assert.deepEqual(Object.keys(context.parts), [
      'system',
      'tools',
      'checkpoint',
      'user',
      'assistant',
      'results',
      'images',
    ])
    assert.equal(history, '')
  })

  test('a second start with the same settings is none, with others a conflict', LIMIT, async () => {
    await ok('start', 'hello', '--model', 'scripted/echo')
    const conflict = /^SessionConflict: .*\(system\): use another id, ".*configure hello" .*chat hello"/
    await fails(1, conflict, 'start hello --model scripted/echo --system other')
  })
})

describe('compactions', () => {
  before(async () => {
    const policy = join(home, 'slow.json')
    writeFileSync(policy, '{"summarizer": {"provider": "scripted", "model": "slow"}}')
    await ok('start', 'long', '--model', 'scripted/echo')
    await ok('start', 'slow-summary', '--model', 'scripted/echo', '--policy', policy)
    for (const letter of ['a', 'b', 'c'])
      for (const session of ['long', 'slow-summary']) await ok('prompt', session, parts(letter))
  }, LIMIT)

  test(
    'compact waits for the result; history and context show it; a second one has nothing to do',
    LIMIT,
    async () => {
      const nothing = await json('compact', 'hello')
      assert.deepEqual([nothing.outcome, nothing.reason], ['nothing', 'too-small'])
      const before = await json('context', 'long')
      const said = await ok('compact', 'long', '--focus', 'the numbers')
      assert.match(said, /^manual\.\S+: [\d,]+ → [\d,]+ tokens, \d+ messages, .*, events #\d+ to #\d+\.\n$/)
      const row = await json('history', 'long')
      assert.deepEqual([row.cause, row.focus, row.outcome], ['manual', 'the numbers', 'compacted'])
      assert.ok(row.tokensAfter < row.tokensBefore)
      const after = await json('context', 'long')
      assert.ok(after.parts.checkpoint > 0 && after.reading.tokens < before.reading.tokens)
      assert.match(await ok('history', 'long', '--limit', '1'), /^when .*\n-+.*\n.* manual .* compacted\n$/)
      assert.match(
        await ok('compact', 'long'),
        /^Nothing was compacted: .*The conversation is as it was\.\n$/,
      )
    },
  )

  test('export is the whole log: the session can be rebuilt from it', LIMIT, async () => {
    const events: SessionEvent[] = lines(await ok('export', 'long')).map((line) => JSON.parse(line))
    const surface: SessionEvent[] = lines(await ok('export', 'long', '--surface')).map((line) =>
      JSON.parse(line),
    )
    const rebuilt = foldLog(events)
    assert.deepEqual(rebuilt.surface, surface)
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, index) => index),
    )
    assert.ok(events.some(({ type }) => type === 'compact/end'))
    assert.equal(deriveMessages(rebuilt.surface)[0]?.role, 'user')
  })

  test('a reader that stops early is no failure', LIMIT, async () => {
    const command = startCli(['export', 'long'])
    command.closeOutput()
    const { code, stderr } = await command.done
    assert.deepEqual([code, stderr], [0, ''])
  })

  test('a span that is none of the conversation: exit code 2', LIMIT, async () => {
    await fails(
      2,
      /InvalidSpan: The region from seq 3 to seq 9999 is not on the surface/,
      'compact long --span 3:9999',
    )
  })

  test(
    'Ctrl-C cancels: the conversation stays as it was, and the log says who stopped it',
    LIMIT,
    async () => {
      const before = await ok('export', 'slow-summary', '--surface')
      const command = start('compact', 'slow-summary')
      await command.says(/Compacting slow-summary; Ctrl-C cancels it/)
      await opened('slow-summary')
      command.interrupt()
      const { code, stdout, stderr } = await command.done
      assert.deepEqual([code, stdout], [130, ''])
      assert.match(stderr, /The compaction was cancelled; the conversation is as it was\.\n$/)
      assert.equal(await ok('export', 'slow-summary', '--surface'), before)
      assert.match(await ok('history', 'slow-summary'), /failed \(cancelled\): Ctrl-C\n$/)
    },
  )

  test('simulate takes a session, and two policies side by side', LIMIT, async () => {
    const table = await ok(
      'simulate',
      'long',
      '--window',
      '8000',
      '--policy',
      'default',
      '--policy',
      'threeLevel',
    )
    assert.match(table, /^policy +requests.*\n-+.*\ndefault +3 .*\nthreeLevel +3 /)
    assert.match(table, /^default:\n {2}before reply 2: [\d,]+ → [\d,]+ tokens/m)
  })
})

/** The workflow comes to a state a moment after its store. */
const stateOf = (session: string, pattern: RegExp) =>
  eventually(
    () => ok('state', session),
    (state) => pattern.test(state),
  )

const opened = (session: string) =>
  eventually(
    () => json('state', session),
    ({ stored }) => stored.openCompaction !== null,
  )

describe('a turn that takes long', () => {
  test(
    'Ctrl-C on prompt leaves it running and says how to follow and to stop it; busy and cancel',
    LIMIT,
    async () => {
      await ok('start', 'slow', '--model', 'scripted/slow')
      const command = start('prompt', 'slow', 'hello', '--id', 'p1')
      await command.says(/Waiting for the answer; Ctrl-C leaves the turn running/)
      command.interrupt()
      const { code, stdout, stderr } = await command.done
      assert.deepEqual([code, stdout], [130, ''])
      assert.match(
        stderr,
        /The turn goes on without you\. Follow it: .* watch slow --after \d+; stop it: .* cancel slow --prompt p1\n$/,
      )

      const watching = start('watch', 'slow', '--after', '-1')
      await watching.says(/user hello/)
      await fails(1, /busy: Session slow is busy: add --wait/, 'compact slow --detach')
      await stateOf('slow', /^status +running turn 1, step 1$/m)
      assert.equal(await ok('cancel', 'slow', '--prompt', 'p1', '--reason', 'too slow'), 'Stopped turn 1.\n')
      await watching.says(/turn\/end aborted: too slow/)
      watching.interrupt()
      const watched = await watching.done
      assert.equal(watched.code, 0)
      assert.match(watched.stderr, /^Watching slow from #0; Ctrl-C ends it\.\n(paid so far: 1 .*\n)*$/)
      await stateOf('slow', /^status +idle$/m)
      assert.deepEqual(
        lines(watched.stdout).map((line, index) => line.startsWith(`#${index} `)),
        lines(watched.stdout).map(() => true),
      )
      await fails(
        3,
        /^NotFound: Nothing to cancel in session slow: no prompt p1 waits or runs\./,
        'cancel slow --prompt p1',
      )
      const again = await run('prompt', 'slow', 'hello', '--id', 'p1', '--json')
      assert.deepEqual([again.code, JSON.parse(again.stdout).reason], [1, 'aborted'])
    },
  )

  test('closed is closed: a prompt is refused, start opens it again', LIMIT, async () => {
    await ok('close', 'slow')
    await stateOf('slow', /^status +closed/m)
    await fails(1, /^SessionClosed: /, 'prompt slow hello --detach')
    await ok('start', 'slow', '--model', 'scripted/slow')
    assert.match(await ok('state', 'slow'), /\(life 2\)/)
  })
})

describe('what people get wrong', () => {
  test('a model or a tool that no worker has: exit code 2, by name', LIMIT, async () => {
    await fails(2, /^UnknownModel: .*"acme"; it has scripted/, 'start x --model acme/large')
    await fails(2, /^UnknownModel: .*scripted\/echo and scripted\/slow/, 'start x --model scripted/other')
    const tool = await run('start', 'x', '--model', 'scripted/echo', '--tools', 'read_file,nope', '--json')
    assert.deepEqual([tool.code, tool.stdout], [2, ''])
    assert.equal(JSON.parse(tool.stderr).error.name, 'UnknownTool')
  })

  test('numbers, choices and words are checked before anything is done', LIMIT, async () => {
    await fails(2, /--limit <n>' argument 'abc' is invalid.*whole number from 1/, 'history hello --limit abc')
    await fails(2, /--port <port>' argument '99999' is invalid/, 'dev --port 99999')
    const unknown = await run('histroy', 'hello', '--json')
    assert.equal(unknown.code, 2)
    assert.match(JSON.parse(unknown.stderr).error.message, /unknown command 'histroy'\n.*history/)
  })

  test('a second dev is refused, and the first one stays found', LIMIT, async () => {
    await fails(1, /^Busy: A dev runs already \(process \d+, Temporal at 127\.0\.0\.1:\d+\)/, 'dev')
    await ok('state', 'hello')
  })

  test('without a server: exit code 4 within seconds; what needs none goes on', LIMIT, async () => {
    const begun = Date.now()
    await fails(
      4,
      /^TemporalUnreachable: Cannot reach Temporal at 127\.0\.0\.1:1 \(nothing answers\)\. Start a server/,
      'prompt hello hi --address 127.0.0.1:1',
    )
    assert.ok(Date.now() - begun < 30_000)
    const store = join(home, 'sessions.db')
    const elsewhere = ['--address', '127.0.0.1:1', '--store', store]
    assert.match(await ok('history', 'long', ...elsewhere), /compacted/)
    const state = await run('state', 'hello', ...elsewhere)
    assert.equal(state.code, 4)
    assert.match(state.stdout, /^status +not known$/m)
  })

  test('a session that is not known makes no store', LIMIT, async () => {
    const store = join(home, 'typo.db')
    await fails(
      3,
      /^SessionNotFound: Session "hello" is not known, there is no store .*typo\.db/,
      `history hello --store ${store}`,
    )
    assert.equal(existsSync(store), false)
  })
})

test(
  'replay plays a transcript through the dev’s server, and says how far it is on the error output',
  LIMIT,
  async () => {
    const file = join(home, 'recorded.json')
    const call = (id: string) => ({
      role: 'assistant',
      content: [{ type: 'tool_use', id, name: 'ls', input: {} }],
    })
    const result = (tool_use_id: string) => ({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id, content: 'a b' }],
    })
    writeFileSync(
      file,
      JSON.stringify([
        { role: 'user', content: 'Look around.' },
        ...['c1', 'c2'].flatMap((id) => [call(id), result(id)]),
        { role: 'assistant', content: 'Two files.' },
      ]),
    )
    const { code, stdout, stderr } = await runCli(['replay', file])
    assert.equal(code, 0, stderr)
    assert.match(
      stdout,
      /Anthropic messages, 6 messages, window 16,000\n3 requests,[\s\S]*every message given back as it was recorded\n$/,
    )
    assert.match(stderr, /^Temporal at 127\.0\.0\.1:\d+ \(it ran already\); 3 recorded replies\n/)
  },
)

test('Ctrl-C ends dev in order: exit code 0, and nobody finds it any more', LIMIT, async () => {
  dev.interrupt()
  const { code, stderr } = await dev.done
  assert.equal(code, 0, stderr)
  assert.match(stderr, /Ending, as soon as running activities have ended/)
  assert.doesNotMatch(stderr, /\n\s+at |No workflows registered/, 'warnings are single lines')
  assert.equal(existsSync(join(home, 'dev.json')), false)
})
