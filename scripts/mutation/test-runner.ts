import { readFileSync, writeFileSync } from 'node:fs'
import { INSTRUMENTER_CONSTANTS, type InstrumenterContext } from '@stryker-mutator/api/core'
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin'
import {
  type DryRunOptions,
  type DryRunResult,
  DryRunStatus,
  determineHitLimitReached,
  type MutantRunOptions,
  type MutantRunResult,
  type TestResult,
  type TestRunner,
  TestStatus,
  toMutantRunResult,
} from '@stryker-mutator/api/test-runner'
import { type LoadedTests, SpeedTest, TestBundle } from './test-bundle.ts'

/** What the first run found; a runner that replaces one that hung reads it. In Stryker's copy of the repository. */
const KNOWN_TESTS = 'known-tests.json'

/** Processor time after which no further test is tried on a change: those left are the slowest. */
const ENOUGH_MS = 5_000

type KnownTest = { readonly id: string; readonly file: string; readonly processorMs: number }

/**
 * Runs the pure tests in this process. Each mutant gets all modules anew, also those that it does not touch, and is
 * active while they load: so mutants of constants and schemas are tried like any other. The fastest tests run first.
 */
class PureTestRunner implements TestRunner {
  #bundle: TestBundle | undefined
  readonly #context: InstrumenterContext

  constructor() {
    const holder = globalThis as unknown as Record<string, InstrumenterContext | undefined>
    holder[INSTRUMENTER_CONSTANTS.NAMESPACE] ??= {}
    this.#context = holder[INSTRUMENTER_CONSTANTS.NAMESPACE] as InstrumenterContext
  }

  capabilities() {
    return { reloadEnvironment: true }
  }

  async init(): Promise<void> {
    this.#bundle = await TestBundle.of(process.cwd())
  }

  async dryRun({ files = [], testFiles = [] }: DryRunOptions): Promise<DryRunResult> {
    const bundle = this.#bundle as TestBundle
    const wanted = bundle.filesThatImport(files, testFiles)
    const coverage = { static: {}, perTest: {} }
    this.#context.mutantCoverage = coverage
    const loaded = bundle.evaluate()
    const all = wanted.flatMap((file) =>
      loadFile(loaded, file).map((registered, index) => ({ file, id: `${file}#${index}`, registered })),
    )
    const tests: TestResult[] = []
    const known: KnownTest[] = []
    for (const { file, id, registered } of all) {
      this.#context.currentTestId = id
      const start = process.cpuUsage()
      const test = await runTest(id, file, registered.title, registered.run)
      if (test === 'about speed') continue
      tests.push(test)
      known.push({ id, file, processorMs: processorMs(start) })
    }
    delete this.#context.currentTestId
    writeFileSync(KNOWN_TESTS, JSON.stringify(known))
    return { status: DryRunStatus.Complete, tests, mutantCoverage: coverage }
  }

  async mutantRun({
    activeMutant,
    testFilter,
    hitLimit,
    sandboxFileName,
  }: MutantRunOptions): Promise<MutantRunResult> {
    const bundle = this.#bundle as TestBundle
    const known: KnownTest[] = JSON.parse(readFileSync(KNOWN_TESTS, 'utf8'))
    const near = bundle.filesThatImport([sandboxFileName])
    // No filter, or one of files, for a change at module level: the tests of all files that import it.
    const covering = known.filter(({ id }) => testFilter?.includes(id))
    const wanted = covering.length > 0 ? covering : known.filter(({ file }) => near.includes(file))
    Object.assign(this.#context, {
      activeMutant: activeMutant.id,
      hitCount: hitLimit === undefined ? undefined : 0,
      hitLimit,
      mutantCoverage: { static: {}, perTest: {} },
    })
    const tests = await runAnew(bundle, wanted)
    return (
      (determineHitLimitReached(this.#context.hitCount, hitLimit) as MutantRunResult | undefined) ??
      toMutantRunResult({ status: DryRunStatus.Complete, tests })
    )
  }
}

async function runAnew(bundle: TestBundle, wanted: readonly KnownTest[]): Promise<TestResult[]> {
  const loaded = bundle.evaluate()
  const byFile = new Map<string, LoadedTests['registered']>()
  const results: TestResult[] = []
  const start = process.cpuUsage()
  for (const { id, file } of wanted.toSorted((a, b) => a.processorMs - b.processorMs)) {
    const result = await runTest(id, file, id, async () => {
      const tests = byFile.get(file) ?? loadFile(loaded, file)
      byFile.set(file, tests)
      // A mutant that takes a row of a table away takes its test away too: that alone is no failure.
      await tests[Number(id.slice(id.lastIndexOf('#') + 1))]?.run()
    })
    if (result === 'about speed') continue
    results.push(result)
    if (result.status === TestStatus.Failed || processorMs(start) > ENOUGH_MS) break
  }
  return results
}

function loadFile({ registered, load }: LoadedTests, file: string): LoadedTests['registered'] {
  const before = registered.length
  load[file]?.()
  return registered.slice(before)
}

function processorMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}

async function runTest(
  id: string,
  fileName: string,
  name: string,
  run: () => unknown,
): Promise<TestResult | 'about speed'> {
  const start = performance.now()
  const outcome = await Promise.resolve()
    .then(run)
    .then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
  const test = { id, name, fileName, timeSpentMs: performance.now() - start }
  if (outcome === undefined) return { ...test, status: TestStatus.Success }
  const { error } = outcome
  if (error instanceof SpeedTest) return 'about speed'
  return {
    ...test,
    status: TestStatus.Failed,
    failureMessage: error instanceof Error ? error.message : String(error),
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'pure', PureTestRunner)]
