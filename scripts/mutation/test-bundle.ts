import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import { build, type Metafile } from 'esbuild'
import type { registered } from './registered-tests.ts'

/** Tests of src/client and src/workflows; and one file that checks nothing but speed. */
const LEFT_OUT = /^(?:client-|workflow-|ledger-linear)/

const STAND_IN = fileURLToPath(new URL('registered-tests.ts', import.meta.url))

export type LoadedTests = {
  readonly registered: typeof registered
  /** By path of a test file: loads it, and with it what it imports. */
  readonly load: Readonly<Record<string, () => unknown>>
}

/**
 * The pure tests in one script, read anew for each mutant in a few milliseconds: no process to start, nothing to
 * resolve, no state that an earlier mutant left. Packages stay outside and are loaded once.
 */
export class TestBundle {
  readonly files: readonly string[]
  readonly #script: Script
  readonly #inputs: Metafile['inputs']
  readonly #require: NodeJS.Require

  private constructor(folder: string, files: readonly string[], code: string, inputs: Metafile['inputs']) {
    this.files = files
    this.#script = new Script(`(function (require, module, cpuUsage) {${code}\n})`, { filename: 'tests.cjs' })
    this.#inputs = inputs
    this.#require = createRequire(join(folder, 'package.json'))
  }

  /** @param folder - the repository, or Stryker's copy of it */
  static async of(folder: string): Promise<TestBundle> {
    const files = readdirSync(join(folder, 'test/pure'))
      .filter((name) => name.endsWith('.test.ts') && !LEFT_OUT.test(name))
      .map((name) => `test/pure/${name}`)
    const loaders = files.map(
      (file) => `${JSON.stringify(file)}: () => require(${JSON.stringify(`./${file}`)})`,
    )
    const { outputFiles, metafile } = await build({
      absWorkingDir: folder,
      stdin: {
        contents: `export { registered } from 'node:test'\nexport const load = {${loaders.join(', ')}}`,
        resolveDir: folder,
      },
      bundle: true,
      write: false,
      metafile: true,
      format: 'cjs',
      platform: 'node',
      packages: 'external',
      alias: { 'node:test': STAND_IN },
      // The clock stands still: code that notes its mutants is slower, and a mutant must not die of a busy machine.
      define: { 'process.cpuUsage': 'cpuUsage', 'import.meta.url': JSON.stringify(pathToFileURL(folder)) },
    })
    return new TestBundle(folder, files, outputFiles[0]?.text ?? '', metafile.inputs)
  }

  evaluate(): LoadedTests {
    const module = { exports: {} }
    const stopped = () => ({ user: 0, system: 0 })
    this.#script.runInThisContext()(this.#require, module, stopped)
    return module.exports as LoadedTests
  }

  /** Whether the test file imports the other one, however indirectly. */
  imports(testFile: string, file: string): boolean {
    const seen = new Set([testFile])
    for (const path of seen) for (const { path: next } of this.#inputs[path]?.imports ?? []) seen.add(next)
    return seen.has(file)
  }
}
