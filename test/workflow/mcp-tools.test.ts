import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type McpServer, type McpTool, mcpTools } from '../../src/worker/index.ts'
import { eventually } from '../support/eventually.ts'
import { failsAs } from '../support/fails-as.ts'
import { MCP_KEY } from '../support/mcp-server.ts'
import { ofType } from '../support/of-type.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'
import { callingModel, callsOf, resultsOf } from '../support/tool-calls.ts'

// Tools of MCP servers, each server a process of its own, over the official SDK on both sides.

const script = fileURLToPath(new URL('../support/mcp-server.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'dc-mcp-'))
const logOf = (name: string) => {
  const path = join(folder, name)
  writeFileSync(path, '', { flag: 'a' })
  return { path, read: () => readFileSync(path, 'utf8') }
}
const stdio = (name: string, rest: object = {}): McpServer => ({
  command: process.execPath,
  args: ['--import', 'tsx', script],
  env: { MCP_LOG: logOf(name).path },
  connectTimeoutMs: 100_000,
  ...rest,
})

/** Of the server behind a URL, which is killed and started anew on its port: one that no outgoing connection gets meanwhile. */
let http: ChildProcess
let port = 0
async function startHttp(): Promise<void> {
  const isFirst = port === 0
  for (;;) {
    if (isFirst) port = randomInt(20_000, 30_000)
    const env = { ...process.env, MCP_LOG: logOf('web').path, MCP_PORT: String(port) }
    http = fork(script, { execArgv: ['--import', 'tsx'], env, stdio: ['ignore', 'inherit', 'ignore', 'ipc'] })
    const [word] = await Promise.race([once(http, 'message'), once(http, 'exit')])
    if (word === 'ready') return
    assert.ok(isFirst, `the port ${port} was lost`)
  }
}
async function killHttp(): Promise<void> {
  const gone = once(http, 'exit')
  http.kill('SIGKILL')
  await gone
}

let tools: readonly McpTool[]
let real: RealSessions
before(async () => {
  await startHttp()
  tools = await mcpTools({
    local: stdio('local', {
      rules: { dies_once: { idempotent: true, retries: 1 }, waits: { timeoutMs: 3_000 } },
    }),
    slow: stdio('slow', { tools: ['waits', 'get.pid', 'parts'] }),
    mortal: stdio('mortal', { tools: ['dies', 'get.pid', 'large'] }),
    web: { url: `http://127.0.0.1:${port}/mcp`, headers: { authorization: MCP_KEY } },
  })
  real = await openRealSessions({ scripted: callingModel() }, tools)
})
after(async () => {
  await real.close()
  await killHttp()
  const pids = [...logOf('slow').read().matchAll(/^\d+/gm)].map(Number)
  await eventually(
    () => pids.filter(isAlive),
    (alive) => alive.length === 0,
  )
  assert.ok(pids.length > 0, 'the worker ends the servers that it started')
  rmSync(folder, { recursive: true, force: true })
})
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const call = async (...calls: readonly (readonly [string, object])[]) => {
  const session = await real.start()
  const turn = await session.prompt(callsOf(calls))
  const { reason, error } = await turn.result({ timeoutMs: 120_000 })
  assert.deepEqual([reason, error], ['completed', undefined])
  const results = await resultsOf(real, session)
  return { session, results, said: results.map(({ text, isError }) => [text, isError]) }
}
const said = async (name: string) => String((await call([name, {}])).said[0]?.[0])

describe('tools of an MCP server', () => {
  test('stand under the server’s name, with descriptions and schemas as it gives them, from all its pages', async () => {
    const names = tools.map(({ name }) => name)
    assert.ok(names.includes('local__dies_once') && names.includes('web__add'), names.join())
    assert.deepEqual(
      names.filter((name) => name.startsWith('slow')),
      ['slow__get_pid', 'slow__parts', 'slow__waits'],
    )
    const { session, said } = await call(['local__add', { a: 1, b: 2 }])
    assert.deepEqual(said, [[`3 for ${session.id}.t1.s1.tool.c0`, false]])
    const offered = (await real.store.session(session.id))?.header.tools
    const add = offered?.find(({ name }) => name === 'local__add')
    assert.equal(add?.description, 'Does add.')
    assert.deepEqual(add?.inputSchema['required'], ['a', 'b'])
    assert.equal(add?.inputSchema['$schema'], 'https://json-schema.org/draft/2020-12/schema')
  })

  test('give text, images and resources; what a model cannot be shown is named', async () => {
    const { results } = await call(['local__rich', {}], ['local__structured', {}])
    const shown = results[0]?.content.map((block) => (block.type === 'text' ? block['text'] : block.type))
    assert.deepEqual(shown, [
      'first',
      'image',
      '[an image of type image/tiff with 3 bytes is not shown]',
      '[audio of type audio/wav with 6 bytes is not shown]',
      '[resource file:///a.txt, text/plain]\nthe text',
      '[resource file:///b.png, image/png]',
      'image',
      '[resource file:///c.zip]',
      '[a resource of type application/octet-stream with 3 bytes is not shown]',
      '[resource notes, file:///d.md, text/markdown]',
    ])
    assert.equal(results[1]?.text, '{"answer":42}')
  })

  test('answer errors that the model reads', async () => {
    const { said } = await call(['local__refuses', {}], ['local__breaks', {}])
    assert.deepEqual(said[0], ['not today', true])
    assert.match(String(said[1]?.[0]), /^local__breaks failed: MCP error -32603: .*the disk is full/)
    assert.equal(said[1]?.[1], true)
  })

  test('stop at their time-out: the server is told', async () => {
    const { said } = await call(['local__waits', {}])
    assert.deepEqual(said, [['local__waits did not answer within 3000 ms and was stopped.', true]])
    await eventually(logOf('local').read, (log) => log.includes('cancelled waits'))
  })

  test('stop with a cancelled turn: the server is told, and serves the next call', async () => {
    const session = await real.start()
    const turn = await session.prompt(callsOf([['slow__waits', {}]]))
    await eventually(logOf('slow').read, (log) => log.includes('begin waits'), 60_000)
    await session.cancelTurn({ reason: 'enough' })
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'aborted')
    await eventually(logOf('slow').read, (log) => log.includes('cancelled waits'))
    assert.match(await said('slow__get_pid'), /^\d+$/)
  })

  test('give of a large output what intake keeps; a message that is too large ends the server, not the session', async () => {
    const { session, results } = await call(['local__large', { megabytes: 6 }])
    const [output] = ofType(await real.log(session), 'tool/output')
    assert.equal(output?.data.content[0]?.['text'], 'x'.repeat(6 * 1024 * 1024))
    assert.ok((results[0]?.text.length ?? 0) < 1024 * 1024, 'the surface has a part of it')
    const beyond = await call(['mortal__large', { megabytes: 25 }])
    assert.match(
      String(beyond.said[0]?.[0]),
      /^mortal__large failed: the MCP server mortal ended before it answered \(its answer exceeded maximum size of \d+ bytes\)/,
    )
  })

  test('give of 200 texts of 100 KB what intake keeps, and the server stays', async () => {
    const before = await said('slow__get_pid')
    const { session, results } = await call(['slow__parts', { count: 200, kilobytes: 100 }])
    const [output] = ofType(await real.log(session), 'tool/output')
    assert.equal(output?.data.content[0]?.['text'], `part 0\n${'x'.repeat(100 * 1024)}`)
    assert.ok((output?.data.droppedBytes ?? 0) > 1024 * 1024, 'of 20 MB 16 MiB are kept')
    assert.deepEqual([results.length, results[0]?.isError], [1, false])
    assert.match(results[0]?.text ?? '', /^part 0\n/)
    assert.ok((results[0]?.text.length ?? 0) < 1024 * 1024, 'the surface has a part of it')
    assert.equal(await said('slow__get_pid'), before)
  })

  test('of a server that dies in a call: the model reads that it may have done the work; the next call has a new server', async () => {
    const first = await said('mortal__get_pid')
    const { said: died } = await call(['mortal__dies', {}])
    assert.match(
      String(died[0]?.[0]),
      /^mortal__dies failed: the MCP server mortal ended before it answered, and may have done the work\. Check what it did/,
    )
    assert.equal(
      logOf('mortal')
        .read()
        .match(/begin dies/g)?.length,
      1,
      'it was not run again',
    )
    assert.notEqual(await said('mortal__get_pid'), first)
  })

  test('that are idempotent and have retries outlive the death of their server', async () => {
    const { said } = await call(['local__dies_once', { log: logOf('local').path }])
    assert.deepEqual(said, [['worked', false]])
  })

  test('of a server behind a URL outlive its restart, and its death in a call', async () => {
    const first = await said('web__get_pid')
    await killHttp()
    assert.match(
      await said('web__get_pid'),
      /^web__get_pid failed: (it was not run: the MCP server web cannot be reached|the MCP server web ended)/,
    )
    await startHttp()
    assert.notEqual(await said('web__get_pid'), first, 'it opened a session with the new server')
    assert.match(await said('web__dies'), /^web__dies failed: the MCP server web ended before it answered/)
    await startHttp()
    assert.match(await said('web__get_pid'), /^\d+$/)
  })
})

describe('mcpTools', () => {
  const refused = (server: unknown, problem: RegExp, name = 'it') =>
    failsAs('InvalidInput', mcpTools({ [name]: server as McpServer }), problem)

  test('refuses what describes no server, by field', async () => {
    await refused({}, /MCP server it\.command/)
    await refused({ url: 'ftp://x' }, /MCP server it\.url/)
    await refused({ command: 'x', header: {} }, /MCP server it: .*header/)
    await refused(stdio('x'), /The name of an MCP server begins the names of its tools.*"a b"/, 'a b')
  })

  test('refuses a server that does not start, does not answer, takes no key, or lacks a tool that is named', async () => {
    await refused(
      { command: 'no-such-program' },
      /The MCP server it does not answer: spawn no-such-program ENOENT/,
    )
    await refused({ command: process.execPath, args: ['-e', '0'] }, /does not answer: .*Connection closed/)
    await refused(
      { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e3)'], connectTimeoutMs: 500 },
      /does not answer: .*timed out \(connectTimeoutMs is 500\)/,
    )
    await refused({ url: `http://127.0.0.1:${port}/mcp` }, /does not answer: .*no key/)
    await refused(
      stdio('x', { tools: ['nope'] }),
      /The MCP server it has no tool "nope"\. It has: get\.pid, add/,
    )
    await refused(stdio('x', { rules: { nope: {} } }), /has no tool "nope"/)
  })
})
