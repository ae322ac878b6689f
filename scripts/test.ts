import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TemporalServer } from '../src/worker/dev-server/start-dev-server.ts'
import { rowsWithoutPass } from './acceptance-tables.ts'
import { countProblems, countsByKind, filesToRepeat, planTests, sumOf, type TestPlan } from './test-plan.ts'
import { type FileResult, runFiles } from './test-run.ts'

// `npm test`: one dev server and one workflow bundle for all files, every file in a process of its own, two at a time.
// The files find them in TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_CLI_PATH and DURABLE_COMPACTION_TEST_BUNDLE.

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => interrupted.abort(new Error(signal)))

const folder = mkdtempSync(join(tmpdir(), 'durable-compaction-test-'))
let server: TemporalServer | undefined
try {
  const plan = planTests(process.argv.slice(2), testFiles)
  if (plan.files.length === 0) throw new RangeError('no test file was found')
  await prepare(plan)
  if (!interrupted.signal.aborted) process.exitCode = await runTests(plan)
} catch (error) {
  console.error(error instanceof Error && !(error instanceof TypeError) ? error.message : error)
  process.exitCode = 1
} finally {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
  if (interrupted.signal.aborted) process.exitCode = 130
}

function testFiles(kind: string): string[] {
  try {
    return readdirSync(join('test', kind))
      .filter((name) => name.endsWith('.test.ts'))
      .sort()
  } catch {
    return [] // A kind without a folder has no tests; its minimum says whether that is right.
  }
}

/** Loads what it needs only when it is needed: a run of pure tests starts at once. */
async function prepare(plan: TestPlan): Promise<void> {
  if (plan.needsBundle) {
    const { bundleWorkflowCode } = await import('@temporalio/worker')
    const { code } = await bundleWorkflowCode({
      workflowsPath: resolve('src/workflows/index.ts'),
      logger: { log() {}, trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error },
    })
    const path = join(folder, 'workflows.js')
    writeFileSync(path, code)
    process.env['DURABLE_COMPACTION_TEST_BUNDLE'] = path
  }
  if (!plan.needsServer) return
  const { findTemporalCli } = await import('../src/worker/dev-server/find-cli.ts')
  const { obtainServer } = await import('../src/worker/dev-server/obtain-server.ts')
  const started = await obtainServer({ onProgress: console.error })
  process.env['TEMPORAL_ADDRESS'] = started.address
  process.env['TEMPORAL_NAMESPACE'] = started.namespace
  console.log(`Temporal server: ${started.origin} at ${started.address}`)
  server = started
  // For the tests that start servers of their own, also beside one that TEMPORAL_ADDRESS named.
  process.env['TEMPORAL_CLI_PATH'] = (await findTemporalCli({ onProgress: console.error })).path
}

/** @returns the exit code. */
async function runTests(plan: TestPlan): Promise<number> {
  const { namePatterns } = plan
  const signal = interrupted.signal
  const results = await runFiles(plan.files, { concurrency: 2, namePatterns, signal })
  const again = filesToRepeat(plan, results)
  if (again.length > 0) {
    for (const file of again)
      for (const failure of results.get(file)?.failures ?? []) console.log(`failed once: ${file}: ${failure}`)
    console.log('Once more, each alone:')
    const second = await runFiles(again, { concurrency: 1, namePatterns, signal })
    for (const file of again) results.set(file, second.get(file) ?? nothingRan(file))
    // Tests that stand in a helper have its name.
    for (const [file, result] of second)
      if (!again.includes(file) && result.failed > 0) results.set(file, result)
  }
  for (const { skips } of results.values()) for (const skip of skips) console.log(`skipped: ${skip}`)
  // Once more, where the end of a long log shows them.
  for (const [file, { failures }] of results)
    for (const failure of failures) console.log(`failed: ${file}: ${failure}`)
  for (const file of again)
    if (results.get(file)?.failed === 0) console.log(`unsteady: ${file} failed once and passed alone`)
  const counts = countsByKind(results)
  const byKind = [...counts].map(
    ([kind, { passed, failed, skipped }]) => `${kind} ${passed + failed + skipped}`,
  )
  console.log(`tests by kind: ${byKind.join(', ')}`)
  const problems = countProblems(plan, counts)
  if (plan.everything)
    problems.push(...rowsWithoutPass(new Set([...results.values()].flatMap(({ ids }) => [...ids]))))
  for (const problem of problems) console.error(problem)
  const total = sumOf([...counts.values()])
  const failed = total.failed + problems.length
  console.log(`${total.passed} passed, ${failed} failed, ${total.skipped} skipped`)
  return failed > 0 ? 1 : 0
}

/** A file that did not even start the second time. */
const nothingRan = (file: string): FileResult => ({
  passed: 0,
  failed: 1,
  skipped: 0,
  failures: [`${file} did not run again`],
  skips: [],
  ids: new Set(),
})
