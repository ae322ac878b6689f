import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import type { TemporalServer } from '../src/worker/dev-server/start-dev-server.ts'
import { rowsWithoutPass, shows } from './acceptance-tables.ts'
import { countProblems, kindOf, planTests, type TestCounts, type TestPlan } from './test-plan.ts'
import { idsOfTitle, type TitleId } from './title-ids.ts'

// `npm test`: one dev server and one workflow bundle for all files, every file in a process of its own, two at a time.
// The files find them in TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_CLI_PATH and DURABLE_COMPACTION_TEST_BUNDLE.

/** A file of half a minute takes ten on a machine that does twenty things at once. */
const FILE_TIMEOUT_MS = 15 * 60_000

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
  const counts = new Map<string, TestCounts>()
  const skips: string[] = []
  const passedIds = new Set<TitleId>()
  const failures: string[] = []
  const events = run({
    files: plan.files.map((file) => resolve(file)),
    concurrency: 2,
    timeout: FILE_TIMEOUT_MS,
    signal: interrupted.signal,
    ...(plan.namePatterns.length > 0 && { testNamePatterns: plan.namePatterns }),
  })
  const count = (file: string | undefined) => {
    const kind = kindOf(file ?? '')
    const found = counts.get(kind) ?? { passed: 0, failed: 0, skipped: 0 }
    counts.set(kind, found)
    return found
  }
  events.on('test:pass', ({ name, file, skip, details }) => {
    if (skip === undefined)
      for (const id of idsOfTitle(name)) if (shows(relative('.', file ?? ''), id)) passedIds.add(id)
    if (details.type === 'suite') return
    if (skip === undefined) count(file).passed++
    else {
      count(file).skipped++
      skips.push(`${name}${typeof skip === 'string' ? `: ${skip}` : ''}`)
    }
  })
  events.on('test:fail', ({ name, file, details }) => {
    if (details.type === 'suite') return
    count(file).failed++
    failures.push(file === undefined ? name : `${relative('.', file)}: ${name}`)
  })
  for await (const text of events.compose(new spec())) process.stdout.write(text)
  for (const skip of skips) console.log(`skipped: ${skip}`)
  // Once more, where the end of a long log shows them.
  for (const failure of failures) console.log(`failed: ${failure}`)
  const byKind = [...counts].map(
    ([kind, { passed, failed, skipped }]) => `${kind} ${passed + failed + skipped}`,
  )
  console.log(`tests by kind: ${byKind.join(', ')}`)
  const problems = countProblems(plan, counts)
  if (plan.everything) problems.push(...rowsWithoutPass(passedIds))
  for (const problem of problems) console.error(problem)
  const total = [...counts.values()].reduce(
    (sum, one) => ({
      passed: sum.passed + one.passed,
      failed: sum.failed + one.failed,
      skipped: sum.skipped + one.skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  )
  const failed = total.failed + problems.length
  console.log(`${total.passed} passed, ${failed} failed, ${total.skipped} skipped`)
  return failed > 0 ? 1 : 0
}
