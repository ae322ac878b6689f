import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import { build, type Metafile } from 'esbuild'
import type { registered } from './registered-tests.ts'

/** Tests of src/client and src/workflows; and one file that checks nothing but speed, and takes long to load. */
const LEFT_OUT = /^(?:client-|workflow-|ledger-linear)/

/** Thrown where a test asks for the processor's time: it is about speed, which a change's notes and a busy machine spoil. */
export class SpeedTest extends Error {}

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
  readonly #folder: string
  readonly #testFiles: readonly string[]
  readonly #script: Script
  readonly #inputs: Metafile['inputs']
  readonly #require: NodeJS.Require

  private constructor(
    folder: string,
    testFiles: readonly string[],
    code: string,
    inputs: Metafile['inputs'],
  ) {
    this.#folder = folder
    this.#testFiles = testFiles
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
      define: { 'process.cpuUsage': 'cpuUsage', 'import.meta.url': JSON.stringify(pathToFileURL(folder)) },
    })
    return new TestBundle(folder, files, outputFiles[0]?.text ?? '', metafile.inputs)
  }

  evaluate(): LoadedTests {
    const module = { exports: {} }
    const cpuUsage = () => {
      throw new SpeedTest()
    }
    this.#script.runInThisContext()(this.#require, module, cpuUsage)
    return module.exports as LoadedTests
  }

  /**
   * Test files that import one of the given files, however indirectly.
   * @param among - where not empty, no others
   */
  filesThatImport(paths: readonly string[], among: readonly string[] = []): string[] {
    const wanted = paths.map((path) => relative(this.#folder, path))
    const allowed = among.map((path) => relative(this.#folder, path))
    return this.#testFiles.filter((testFile) => {
      if (allowed.length > 0 && !allowed.includes(testFile)) return false
      const reached = new Set([testFile])
      for (const path of reached) for (const next of this.#inputs[path]?.imports ?? []) reached.add(next.path)
      return wanted.some((path) => reached.has(path))
    })
  }
}
