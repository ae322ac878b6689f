import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { untilReady } from '../../src/worker/dev-server/start-dev-server.ts'

// The script behind `npm test`, run on small repositories of its own.
const REPOSITORY = resolve(import.meta.dirname, '../..')
const PASSES =
  "import { test } from 'node:test'\ntest('one', () => {})\ntest('two', { skip: 'no disk' }, () => {})\n"
const FAILS = "import { test } from 'node:test'\ntest('one', () => { throw new Error('broken') })\n"

test('npm test: passing files → exit 0, skips with their reason, the counts as the last line', async (t) => {
  const { code, lines } = await runToEnd(t, { 'test/pure/a.test.ts': PASSES }, ['test/pure/a.test.ts'])
  assert.equal(code, 0)
  assert.ok(lines.includes('ℹ tests 2'), lines.join('\n'))
  assert.deepEqual(lines.slice(-3), [
    'skipped: two: no disk',
    'tests by kind: pure 2',
    '1 passed, 0 failed, 1 skipped',
  ])
})

test('npm test: a failing test, a file that does not load, and too few tests → exit 1', async (t) => {
  const failing = await runToEnd(t, { 'test/pure/a.test.ts': FAILS }, ['test/pure/a.test.ts'])
  assert.equal(failing.code, 1)
  assert.deepEqual(failing.lines.slice(-3), [
    'failed: test/pure/a.test.ts: one',
    'tests by kind: pure 1',
    '0 passed, 1 failed, 0 skipped',
  ])
  const unloadable = await runToEnd(t, { 'test/pure/a.test.ts': "import './missing.ts'\n" }, [
    'test/pure/a.test.ts',
  ])
  assert.deepEqual([unloadable.code, unloadable.lines.at(-1)], [1, '0 passed, 1 failed, 0 skipped'])
  const few = await runToEnd(t, { 'test/toolchain/a.test.ts': PASSES }, ['toolchain'])
  assert.equal(few.code, 1)
  assert.ok(
    few.lines.some((line) => /^toolchain: 2 tests ran, at least \d+ must/.test(line)),
    few.lines.join('\n'),
  )
  const none = await runToEnd(t, {}, ['pure'])
  assert.deepEqual([none.code, none.lines.at(-1)], [1, 'no test file was found'])
})

test('npm test: files find server and bundle in their environment; an interrupt ends the server', async (t) => {
  const source = `import { test } from 'node:test'
    import { statSync } from 'node:fs'
    test('waits', async () => {
      statSync(process.env['DURABLE_COMPACTION_TEST_BUNDLE'])
      console.log('at ' + process.env['TEMPORAL_ADDRESS'])
      await new Promise((resolve) => setTimeout(resolve, 60_000))
    })`
  const files = {
    'src/workflows/index.ts': 'export async function nothing(): Promise<void> {}\n',
    'test/workflow/a.test.ts': source,
  }
  const child = start(t, files, ['test/workflow/a.test.ts'])
  const lines = createInterface({ input: child.stdout ?? assert.fail() })
  let address: string | undefined
  for await (const line of lines) {
    address = /^\s*at (\S+)/.exec(line)?.[1]
    if (address !== undefined) break
  }
  assert.equal(await untilReady(address ?? '', 'default', 0), undefined)
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  assert.equal(code, 130)
  assert.ok(await untilReady(address ?? '', 'default', 0), 'the server is still there')
})

function start(t: TestContext, files: Record<string, string>, args: string[]): ChildProcess {
  const root = mkdtempSync(join(tmpdir(), 'test-runner-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }')
  symlinkSync(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const { NODE_TEST_CONTEXT: _, TEMPORAL_ADDRESS: __, ...env } = process.env
  const loader = join(REPOSITORY, 'node_modules/tsx/dist/loader.mjs')
  const program = join(REPOSITORY, 'scripts/test.ts')
  const child = spawn(process.execPath, ['--import', `file://${loader}`, program, ...args], {
    cwd: root,
    env,
  })
  t.after(() => child.kill()) // Of a test that failed; the runner ends its server.
  return child
}

async function runToEnd(t: TestContext, files: Record<string, string>, args: string[]) {
  const child = start(t, files, args)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += text))
  const [code] = await once(child, 'close')
  return { code, lines: output.trim().split('\n') }
}
