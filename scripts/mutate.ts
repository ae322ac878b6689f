import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'

// `npm run mutate -- src/shared/recall src/shared/limits.ts [options of Stryker]`: changes the code in many small ways and names the changes
// that no test notices. Ends with 1 below the threshold of stryker.config.json.

const args = process.argv.slice(2)
const paths = args.filter((arg) => arg.startsWith('src/'))
const problem = paths.length === 0 ? 'no file or folder was named' : paths.map(pathProblem).find(Boolean)
if (problem) {
  console.error(
    `mutate: ${problem}. Name files or folders of src/shared: npm run mutate -- src/shared/limits.ts`,
  )
  process.exitCode = 2
} else {
  const stryker = join('node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js')
  const options = args.filter((arg) => !paths.includes(arg))
  const mutate = paths.map(globOf).join(',')
  // One file of results for each choice of paths: with a shared one the score would be that of everything ever measured.
  const results = `reports/mutation/${resultsName(paths)}.json`
  const child = spawn(
    process.execPath,
    [stryker, 'run', '--mutate', mutate, '--incrementalFile', results, ...options],
    // For all processes of Stryker: the runner of the tests is TypeScript.
    { stdio: 'inherit', env: { ...process.env, NODE_OPTIONS: '--import tsx' } },
  )
  child.once('close', (code) => {
    process.exitCode = code ?? 1
  })
}

function pathProblem(path: string): string | null {
  if (!path.startsWith('src/shared/') && path !== 'src/shared') return `${path} is not in src/shared`
  return statSync(path, { throwIfNoEntry: false }) === undefined ? `${path} does not exist` : null
}

/** The paths, or where those are many, how they begin and their hash: a file's name has a limit. */
function resultsName(paths: readonly string[]): string {
  const name = paths.join('+').replaceAll('/', '-')
  if (name.length <= 200) return name
  return `${name.slice(0, 60)}-${createHash('sha256').update(name).digest('hex').slice(0, 12)}`
}

function globOf(path: string): string {
  return statSync(path).isDirectory() ? `${path.replace(/\/$/, '')}/**/*.ts` : path
}
