import { relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { shows } from './acceptance-tables.ts'
import type { TestCounts } from './test-plan.ts'
import { idsOfTitle, type TitleId } from './title-ids.ts'

/** A file of half a minute takes ten on a machine that does twenty things at once. */
const FILE_TIMEOUT_MS = 15 * 60_000

/** What one source file's tests did. A file of tests that stand in a helper, as the store's contract, is the helper. */
export interface FileResult extends TestCounts {
  /** Titles of what failed, and of what was skipped with its reason. */
  readonly failures: string[]
  readonly skips: string[]
  /** Of tests that passed. */
  readonly ids: Set<TitleId>
}

/** Runs test files, each in a process of its own, and prints what they do. @returns by path below the working folder; the key of a test without a file is '' */
export async function runFiles(
  files: readonly string[],
  options: {
    readonly concurrency: number
    readonly namePatterns: readonly string[]
    readonly signal: AbortSignal
  },
): Promise<Map<string, FileResult>> {
  const results = new Map<string, FileResult>()
  const of = (file: string | undefined): FileResult => {
    const key = file === undefined ? '' : relative('.', file)
    const found = results.get(key) ?? {
      passed: 0,
      failed: 0,
      skipped: 0,
      failures: [],
      skips: [],
      ids: new Set(),
    }
    results.set(key, found)
    return found
  }
  const events = run({
    files: files.map((file) => resolve(file)),
    concurrency: options.concurrency,
    timeout: FILE_TIMEOUT_MS,
    signal: options.signal,
    ...(options.namePatterns.length > 0 && { testNamePatterns: [...options.namePatterns] }),
  })
  events.on('test:pass', ({ name, file, skip, details }) => {
    const result = of(file)
    if (skip === undefined)
      for (const id of idsOfTitle(name)) if (shows(relative('.', file ?? ''), id)) result.ids.add(id)
    if (details.type === 'suite') return
    if (skip === undefined) result.passed++
    else {
      result.skipped++
      result.skips.push(`${name}${typeof skip === 'string' ? `: ${skip}` : ''}`)
    }
  })
  events.on('test:fail', ({ name, file, details }) => {
    // A suite fails with its tests, which are counted; or by itself, by a hook.
    if (details.type === 'suite' && failureTypeOf(details.error) === 'subtestsFailed') return
    const result = of(file)
    result.failed++
    result.failures.push(name)
  })
  for await (const text of events.compose(new spec())) process.stdout.write(text)
  return results
}

const failureTypeOf = (error: unknown): unknown =>
  error instanceof Error && 'failureType' in error ? error.failureType : undefined
