import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'

const folder = mkdtempSync(join(tmpdir(), 'dc-test-run-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a test file by the runner of this repository, in a process that is no test itself. @returns what it counted */
function counted(source: string): { readonly passed: number; readonly failures: readonly string[] } {
  const file = join(folder, 'it.test.mts')
  writeFileSync(file, source)
  const runner = resolve('scripts/test-run.ts')
  const program = join(folder, 'run.mts')
  writeFileSync(
    program,
    `import { runFiles } from ${JSON.stringify(runner)}
    const signal = new AbortController().signal
    const results = await runFiles([${JSON.stringify(file)}], { concurrency: 1, namePatterns: [], signal })
    const all = [...results.values()]
    const passed = all.reduce((sum, one) => sum + one.passed, 0)
    console.log('\\n' + JSON.stringify({ passed, failures: all.flatMap(({ failures }) => failures) }))`,
  )
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', program], {
    env,
    encoding: 'utf8',
  })
  const last = stdout.trim().split('\n').at(-1) ?? ''
  assert.match(last, /^\{/, stderr)
  return JSON.parse(last)
}

test('test run: a suite that fails by a hook of its own is a failure', () => {
  const hook = "after(() => { throw new Error('left open') })"
  assert.deepEqual(
    counted(
      `import { after, describe, test } from 'node:test'\ndescribe('suite', () => { ${hook}; test('one', () => {}) })`,
    ),
    { passed: 1, failures: ['suite'] },
  )
})

test('test run: a test that fails is counted once, without the suites around it', () => {
  const failing = "test('one', () => { throw new Error('no') })"
  assert.deepEqual(
    counted(
      `import { describe, test } from 'node:test'\ndescribe('suite', () => { ${failing}; test('two', () => {}) })`,
    ),
    { passed: 1, failures: ['one'] },
  )
})
