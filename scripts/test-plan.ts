import { join } from 'node:path'

/** One folder of `test/`, in the order in which the folders run: what is cheap to run fails first. */
export interface TestKind {
  name: string
  /** What its files find in their environment. */
  needs: 'nothing' | 'bundle' | 'server'
  /**
   * Fewer tests than this in a whole run is a failure, skipped ones included in the count: a file that is no longer
   * found, or a loop that makes no tests any more, must not look green. Raise it when tests are added.
   */
  minimum: number
  /** Takes so long that it runs only when named. */
  onlyWhenNamed?: true
}

export const TEST_KINDS: readonly TestKind[] = [
  { name: 'toolchain', needs: 'nothing', minimum: 190 },
  { name: 'pure', needs: 'nothing', minimum: 1880 },
  { name: 'property', needs: 'nothing', minimum: 38 },
  { name: 'formats', needs: 'nothing', minimum: 100 },
  { name: 'store', needs: 'nothing', minimum: 32 },
  { name: 'activities', needs: 'nothing', minimum: 290 },
  { name: 'replay', needs: 'bundle', minimum: 19 },
  { name: 'workflow', needs: 'server', minimum: 535 },
  { name: 'cli', needs: 'server', minimum: 172 },
  { name: 'process', needs: 'server', minimum: 19 },
  { name: 'package', needs: 'nothing', minimum: 18, onlyWhenNamed: true },
]

export interface TestPlan {
  kinds: readonly TestKind[]
  files: string[]
  needsBundle: boolean
  needsServer: boolean
  /** True when every test of the kinds runs, so that their minimum can be asked for. */
  whole: boolean
  /** True when, beyond that, every kind runs that need not be named. */
  everything: boolean
  namePatterns: string[]
  /** A skipped test is a failure. */
  strict: boolean
  /** What failed on a real server is run once more, and said to be unsteady when it passes then. */
  repeat: boolean
}

/**
 * Reads the arguments of `npm test`: nothing (every kind but those that run only when named), `--fast` (what needs no
 * server), kinds (`pure store`), files (`test/pure/x.test.ts`), `--name PATTERN` (as often as wanted), `--strict`, `--repeat`.
 *
 * @param filesOf - the names of the test files of a kind
 * @throws RangeError for an argument that names nothing
 */
export function planTests(args: readonly string[], filesOf: (kind: string) => string[]): TestPlan {
  const chosen: { files: string[]; kinds: string[]; namePatterns: string[] } = {
    files: [],
    kinds: [],
    namePatterns: [],
  }
  let [fast, strict, repeat] = [false, false, false]
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (arg === '--fast') fast = true
    else if (arg === '--strict') strict = true
    else if (arg === '--repeat') repeat = true
    else if (arg === '--name') chosen.namePatterns.push(args[++at] ?? '')
    else if (TEST_KINDS.some(({ name }) => name === arg)) chosen.kinds.push(arg)
    else if (/^test\/[\w-]+\/[\w.-]+\.test\.ts$/.test(arg)) chosen.files.push(arg)
    else throw new RangeError(argumentProblem(arg))
  }
  const named = (kind: string) =>
    chosen.kinds.includes(kind) || chosen.files.some((file) => kindOf(file) === kind)
  const nothingNamed = chosen.kinds.length === 0 && chosen.files.length === 0
  const kinds = TEST_KINDS.filter((kind) => {
    if (fast && kind.needs === 'server') return false
    return nothingNamed ? !kind.onlyWhenNamed : named(kind.name)
  })
  const files = kinds.flatMap(({ name }) => {
    const single = chosen.files.filter((file) => kindOf(file) === name)
    return single.length > 0 ? single : filesOf(name).map((file) => join('test', name, file))
  })
  return {
    kinds,
    files,
    needsServer: kinds.some(({ needs }) => needs === 'server'),
    needsBundle: kinds.some(({ needs }) => needs !== 'nothing'),
    whole: chosen.files.length === 0 && chosen.namePatterns.length === 0,
    everything: nothingNamed && !fast && chosen.namePatterns.length === 0,
    namePatterns: chosen.namePatterns,
    strict,
    repeat,
  }
}

function argumentProblem(arg: string): string {
  const kinds = TEST_KINDS.map(({ name }) => name).join(', ')
  return `${arg} is no test file (test/<kind>/<name>.test.ts), no kind (${kinds}) and no option (--fast, --name PATTERN, --strict, --repeat)`
}

/** The folder of a test file, absolute or not. */
export function kindOf(file: string): string {
  return file.split(/[\\/]/).at(-2) ?? ''
}

export interface TestCounts {
  passed: number
  failed: number
  skipped: number
}

type CountsByFile = ReadonlyMap<string, TestCounts>

export const sumOf = (counts: readonly TestCounts[]): TestCounts => ({
  passed: counts.reduce((sum, { passed }) => sum + passed, 0),
  failed: counts.reduce((sum, { failed }) => sum + failed, 0),
  skipped: counts.reduce((sum, { skipped }) => sum + skipped, 0),
})

export function countsByKind(byFile: CountsByFile): Map<string, TestCounts> {
  const kinds = new Set([...byFile.keys()].map(kindOf))
  const of = (kind: string) =>
    [...byFile].filter(([file]) => kindOf(file) === kind).map(([, counts]) => counts)
  return new Map([...kinds].map((kind) => [kind, sumOf(of(kind))]))
}

/** More files than this that fail are no chance of a crowded machine. */
const MOST_REPEATED_FILES = 2

/**
 * With `--repeat`, the files that failed, when they are few and all of them use a real server: a machine that stands still for seconds may fail one of
 * hundreds of such tests. One that fails again has failed; one that passes is named as unsteady, so that it is mended.
 */
export function filesToRepeat(plan: TestPlan, byFile: CountsByFile): string[] {
  if (!plan.repeat) return []
  const failed = [...byFile].filter(([, counts]) => counts.failed > 0).map(([file]) => file)
  const onServer = new Set(plan.kinds.filter(({ needs }) => needs === 'server').map(({ name }) => name))
  const mayRepeat = failed.every((file) => plan.files.includes(file) && onServer.has(kindOf(file)))
  return mayRepeat && failed.length <= MOST_REPEATED_FILES ? failed : []
}

/** What is wrong with a run that did not fail by itself, one sentence each. */
export function countProblems(plan: TestPlan, counts: ReadonlyMap<string, TestCounts>): string[] {
  const problems: string[] = []
  for (const { name, minimum } of plan.kinds) {
    const { passed, failed, skipped } = counts.get(name) ?? { passed: 0, failed: 0, skipped: 0 }
    const ran = passed + failed + skipped
    if (plan.whole && ran < minimum) {
      problems.push(`${name}: ${ran} tests ran, at least ${minimum} must (scripts/test-plan.ts)`)
    }
    if (plan.strict && skipped > 0)
      problems.push(`${name}: ${skipped} tests were skipped, --strict allows none`)
  }
  return problems
}
