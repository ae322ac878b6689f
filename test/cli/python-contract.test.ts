import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, test } from 'node:test'
import { readLog } from '../../src/cli/read-log.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'

// The contract for other languages, from Temporal's Python SDK: examples/python/agent.py against our worker on a real server.

const PYTHON_SDK = 'temporalio>=1.10,<2'
const python = ['python3', 'python'].find((name) => spawnSync(name, ['--version']).status === 0)
const folder = mkdtempSync(join(tmpdir(), 'python-'))
const script = resolve(import.meta.dirname, '../../examples/python/agent.py')

let real: RealSessions
before(async () => {
  if (python === undefined) return
  real = await openRealSessions({
    scripted: scriptedModel(() => 'not asked', {
      capacity: { contextWindow: 16_000, maxOutputTokens: 4_000 },
      summaries: 'Words are counted one by one; go on.',
    }),
  })
})
after(async () => {
  await real?.close()
  rmSync(folder, { recursive: true, force: true })
})

test('contract: a workflow of the Python SDK opens a session, appends its turn, and compacts it', {
  skip: python === undefined && 'there is no python3 on the PATH',
  timeout: 300_000,
}, async () => {
  const interpreter = join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python')
  await run(python ?? '', ['-m', 'venv', folder], 'python3 has no venv: install the package python3-venv')
  const install = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--only-binary',
    ':all:',
    PYTHON_SDK,
  ]
  await run(
    interpreter,
    install,
    'pip could not install temporalio: it needs the package index, or a mirror in PIP_INDEX_URL',
  )
  const sessionId = `py-${randomUUID().slice(0, 8)}`
  const output = await run(interpreter, [script, sessionId], 'the agent failed')
  const compacted = /^compaction: compacted (\d+) → (\d+)$/m.exec(output)
  assert.ok(compacted !== null && Number(compacted[2]) < Number(compacted[1]), output)
  assert.match(output, /^turn: 1 messages: \d+$/m)
  const events = await readLog(real.store, sessionId)
  const types = events.map(({ type }) => type)
  assert.equal(types.filter((type) => type === 'assistant/message').length, 8)
  assert.equal(types.filter((type) => type === 'compact/start').length, 1)
  assert.equal(types.filter((type) => type === 'compact/end').length, 1)
  const results = events.flatMap((event) => (event.type === 'tool/result' ? [event.data.name] : []))
  assert.deepEqual([...new Set(results)], ['words'], 'each result is of the tool that was called')
  const [summary] = events.flatMap((event) => (event.type === 'compact/call' ? [event.data] : []))
  assert.equal(summary?.accepted, true)
})

/** What a program printed. @throws an error with the remedy and its last lines */
function run(program: string, args: readonly string[], remedy: string): Promise<string> {
  const child = spawn(program, args, {
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: real.address,
      SESSIONS_TASK_QUEUE: real.taskQueue,
      AGENTS_TASK_QUEUE: `${real.taskQueue}-python`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk
    })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve(output)
      else
        reject(
          new Error(`${remedy} (${program} ${args.join(' ')} ended with ${code}):\n${output.slice(-3000)}`),
        )
    })
  })
}
