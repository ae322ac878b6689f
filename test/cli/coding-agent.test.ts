import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { obtainServer } from '../../src/worker/dev-server/obtain-server.ts'
import { type AnthropicServer, openAnthropicServer, reply } from '../support/anthropic/server.ts'
import { installPackage } from '../support/installed-package.ts'

// examples/coding-agent as a person has it: the built package, a real server, a folder with a bug. What is said comes through a pipe.

const app = mkdtempSync(join(tmpdir(), 'coding-agent-'))
const children = new Set<ReturnType<typeof spawn>>()
let server: Awaited<ReturnType<typeof obtainServer>>
let far: AnthropicServer

before(
  async () => {
    server = await obtainServer()
    far = await openAnthropicServer()
    await installPackage(app)
  },
  { timeout: 240_000 },
)
after(async () => {
  for (const child of children) child.kill('SIGKILL')
  far?.close()
  await server?.stop()
  rmSync(app, { recursive: true, force: true })
})

const LIMIT = { timeout: 240_000 }

/** A project whose test fails. */
function project(name: string): string {
  const folder = join(app, name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  writeFileSync(join(folder, 'sum.js'), 'export const add = (a, b) => a - b\n')
  writeFileSync(
    join(folder, 'sum.test.js'),
    "import { strict as assert } from 'node:assert'\nimport { add } from './sum.js'\n\nassert.equal(add(2, 3), 5)\nconsole.log('ok')\n",
  )
  return folder
}

async function agent(folder: string, said: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, ['--import', 'tsx', 'examples/coding-agent/agent.ts', folder], {
    cwd: app,
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: server.address,
      SESSION_STORE: join(app, 'sessions.db'),
      ANTHROPIC_API_KEY: undefined,
      ANTHROPIC_AUTH_TOKEN: undefined,
      NO_COLOR: '1',
      ...env,
    },
    stdio: 'pipe',
  })
  children.add(child)
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (part: Buffer) => {
    stdout += part
  })
  child.stderr.on('data', (part: Buffer) => {
    stderr += part
  })
  child.stdin.end(said.map((line) => `${line}\n`).join(''))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, stdout, stderr }
}

const repaired = 'export const add = (a, b) => a + b\n'

test(
  'examples: the coding agent repairs a bug in its folder, without a key; the same command comes back',
  LIMIT,
  async () => {
    const folder = project('rehearsed')
    const first = await agent(folder, ['The test fails. Repair it.'])
    assert.equal(first.code, 0, first.stderr)
    assert.equal(
      first.stdout,
      'add subtracted; it adds now, and the test passes. I have changed nothing else.\n',
    )
    assert.match(first.stderr, /^→ edit_file .*\n← edit_file: Replaced 1 lines by 1 at line 1 of sum\.js\.$/m)
    assert.match(first.stderr, /^→ run_command .*\n← run_command: ok \(2 lines\)$/m)
    assert.equal(readFileSync(join(folder, 'sum.js'), 'utf8'), repaired)
    const second = await agent(folder, ['And now?', '/context'])
    assert.equal(second.code, 0, second.stderr)
    assert.match(
      second.stderr,
      /^Session rehearsed\.[0-9a-f]{8}\.main, rehearsal\/one-task, 1 turn so far\./m,
    )
    assert.match(second.stdout, /^(add subtracted; .*\n){2}part +tokens +share$/m)
  },
)

test(
  'examples: the coding agent with Claude over the wire: tools in parallel, an edit that is refused and made again',
  LIMIT,
  async () => {
    const folder = project('live')
    const use = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input })
    const steps = [
      [
        { type: 'text', text: 'I read both.' },
        use('toolu_1', 'read_file', { path: 'sum.js' }),
        use('toolu_2', 'read_file', { path: 'sum.test.js' }),
      ],
      [use('toolu_3', 'edit_file', { path: 'sum.js', before: 'a * b', after: 'a + b' })],
      [use('toolu_4', 'edit_file', { path: 'sum.js', before: 'a - b', after: 'a + b' })],
      [use('toolu_5', 'run_command', { command: 'node sum.test.js' })],
      [{ type: 'text', text: 'It adds now.' }],
    ]
    // A request that is made again gets the same reply: what it holds tells how far the turn is.
    far.answer = ({ json }, response) => {
      const results = json.match(/"type":"tool_result"/g)?.length ?? 0
      const step = results === 0 ? 0 : results - 1
      reply(response, { content: steps[step] ?? [], id: `msg_${step}` })
    }
    const { code, stdout, stderr } = await agent(folder, ['Repair add.'], {
      ANTHROPIC_API_KEY: 'sk-ant-test',
      ANTHROPIC_BASE_URL: far.url,
    })
    far.assertValid()
    assert.equal(code, 0, stderr)
    assert.equal(stdout, 'I read both.\nIt adds now.\n')
    assert.match(stderr, /^← edit_file: edit_file failed: sum\.js does not hold this text: read the file/m)
    assert.equal(readFileSync(join(folder, 'sum.js'), 'utf8'), repaired)
    assert.deepEqual(readdirSync(folder).sort(), ['package.json', 'sum.js', 'sum.test.js'])
    const system = JSON.stringify(far.received.at(-1)?.body['system'])
    assert.ok(system.includes('You are a coding agent.'), system)
  },
)
