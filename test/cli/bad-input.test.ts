import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { obtainServer } from '../../src/worker/dev-server/obtain-server.ts'
import type { TemporalServer } from '../../src/worker/dev-server/start-dev-server.ts'
import { type CliRun, runCli, runCommand } from '../support/run-cli.ts'

// What people get wrong on the command line: one sentence on the error output, and the exit code that scripts look at.

let home: string
let server: TemporalServer
before(async () => {
  server = await obtainServer()
  home = mkdtempSync(join(tmpdir(), 'dc-cli-'))
  Object.assign(process.env, { DURABLE_COMPACTION_HOME: home, TEMPORAL_ADDRESS: server.address })
})
after(async () => {
  await server.stop()
  rmSync(home, { recursive: true, force: true })
})

async function fails(code: number, running: Promise<CliRun>, ...patterns: readonly RegExp[]): Promise<void> {
  const run = await running
  assert.equal(run.code, code, `${run.stdout}\n${run.stderr}`)
  for (const pattern of patterns) assert.match(run.stderr, pattern)
  assert.doesNotMatch(run.stderr, /^\s+at /m, 'a stack is no message')
}

const file = (name: string, content: string | Buffer): string => {
  const path = join(home, name)
  writeFileSync(path, content)
  return path
}

const record = (uuid: string, parentUuid: string | null, role: 'user' | 'assistant', content: unknown) =>
  JSON.stringify({
    type: role,
    uuid,
    parentUuid,
    isSidechain: false,
    message: role === 'user' ? { role, content } : { role, content, id: uuid, model: 'm' },
  })
const CONVERSATION = [
  record('1', null, 'user', 'Read the file.'),
  record('2', '1', 'assistant', [{ type: 'text', text: 'It says hello.' }]),
  record('3', '2', 'user', 'Thank you.'),
  record('4', '3', 'assistant', [{ type: 'text', text: 'You are welcome.' }]),
]

describe('a file that is no transcript: exit code 2', () => {
  const files: readonly [string, string | Buffer | null, RegExp][] = [
    ['empty.jsonl', '', /is empty: a recorded session is needed/],
    ['blank.jsonl', ' \n\n', /is empty/],
    [
      'prose.txt',
      'Dear diary, nothing here.',
      /no known transcript.*"Dear diary.*known formats are claude-code/,
    ],
    ['bytes.bin', Buffer.from([0, 1, 2, 255]), /no known transcript/],
    [
      'cut.json',
      '{"messages": [{"role": "user", "content": "he',
      /no complete JSON document.*record or copy it again/,
    ],
    ['not-there.jsonl', null, /Cannot read .*not-there\.jsonl/],
  ]
  for (const [name, content, why] of files) {
    for (const command of ['simulate', 'replay']) {
      test(`${command} ${name}`, async () => {
        const path = content === null ? join(home, name) : file(`${command}-${name}`, content)
        await fails(2, runCommand([command, path]), why, new RegExp(name))
      })
    }
  }

  test('as a process', async () => {
    await fails(2, runCli(['simulate', file('diary.txt', 'Dear diary')]), /no known transcript/)
  })
})

describe('a transcript that was cut: the rest is taken, the broken line is named', () => {
  const cut = () => file('cut.jsonl', `${CONVERSATION.join('\n')}\n${CONVERSATION[0]?.slice(0, 60)}`)

  test('simulate', async () => {
    const run = await runCommand(['simulate', cut()])
    assert.equal(run.code, 0, run.stderr)
    assert.match(run.stderr, /cut\.jsonl: line 5 was skipped: the file ends inside this line/)
    const json = await runCommand(['--json', 'simulate', cut()])
    const { read } = JSON.parse(json.stdout) as { read: { brokenLines: { line: number }[] } }
    assert.deepEqual(
      read.brokenLines.map(({ line }) => line),
      [5],
    )
  })

  test('replay', async () => {
    const run = await runCli(['replay', cut()])
    assert.equal(run.code, 0, run.stderr)
    assert.match(run.stderr, /cut\.jsonl: line 5 was skipped/)
    assert.match(run.stdout, /Claude Code, 4 messages/)
  })
})

describe('no Temporal server: exit code 4, the address and what to do', () => {
  const NOBODY = '127.0.0.1:1'
  const remedy = [/127\.0\.0\.1:1/, /Start a server, for example with ".* dev"/]
  const commands = [
    ['start', 'x', '--model', 'scripted/echo'],
    ['prompt', 'x', 'hi'],
    ['compact', 'x'],
    ['close', 'x'],
  ]
  for (const command of commands) {
    test(command.join(' '), () => fails(4, runCommand(['--address', NOBODY, ...command]), ...remedy))
  }

  test('worker', () => fails(4, runCli(['--address', NOBODY, 'worker']), ...remedy))

  test('replay', async () => {
    const path = file('good.jsonl', CONVERSATION.join('\n'))
    const run = runCli(['replay', path], { TEMPORAL_ADDRESS: NOBODY })
    await fails(4, run, ...remedy)
  })
})

describe('dev', () => {
  test('port in use: exit code 4, its number and what to do; who listens there is not disturbed', async () => {
    const listener = createServer()
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
    const { port } = listener.address() as AddressInfo
    const dev = (option: string) => runCli(['dev', option, String(port)], { TEMPORAL_ADDRESS: undefined })
    try {
      await fails(4, dev('--port'), new RegExp(`Port ${port} cannot be used`), /Choose another/)
      await fails(4, dev('--ui-port'), new RegExp(`Port ${port} cannot be used`), /Choose another/)
      assert.equal(listener.listening, true)
    } finally {
      listener.close()
    }
  })
})

describe('the session, the store and the words', () => {
  test('unknown session: exit code 3', async () => {
    for (const command of [
      'state',
      'history',
      'transcript',
      'context',
      'export',
      'compact',
      'cancel',
      'close',
    ])
      await fails(3, runCommand([command, 'nobody']), /SessionNotFound: .*nobody/, /start it/)
    await fails(3, runCommand(['prompt', 'nobody', 'hello']), /SessionNotFound: .*nobody/, /start it/)
    await fails(3, runCli(['state', 'nobody']), /SessionNotFound/)
  })

  test('a session id with odd characters, a blank prompt, a bad span: exit code 2', async () => {
    await fails(2, runCommand(['prompt', 'a b', 'hello']), /1 to 64 characters/, /"a b"/)
    await fails(2, runCommand(['prompt', 'nobody', '  ']), /empty or blank/)
    await fails(
      2,
      runCommand(['compact', 'nobody', '--span', '9']),
      /--span <a:b>' argument '9' is invalid.*two seqs/,
    )
  })

  test('a store that cannot be opened: exit code 4', async () => {
    const state = runCommand(['state', 'x', '--store', join(home, 'none', 'sessions.db')])
    await fails(4, state, /StoreUnavailable: .*cannot be opened/, /create its folder/)
  })

  test('words that there are not, and a policy that is no JSON: exit code 2', async () => {
    await fails(2, runCommand(['compress', 'x']), /unknown command 'compress'/)
    await fails(2, runCommand(['compact', 'x', '--fokus', 'y']), /unknown option '--fokus'/)
    const policy = file('policy.json', '{"thresholdTokens": ')
    await fails(2, runCommand(['start', 'x', '--model', 'scripted/echo', '--policy', policy]), /policy\.json/)
    const preset = runCommand(['start', 'x', '--model', 'scripted/echo', '--policy', 'lean'])
    await fails(2, preset, /no file lean: .*--preset lean/)
  })
})
