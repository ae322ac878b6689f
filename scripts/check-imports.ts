import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { importProblems } from './import-rules.ts'

// Prints one line a violation of the import table, and nothing when there is none.
const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
const problems = files
  .map((name) => join('src', name).split(sep).join('/'))
  .flatMap((path) => importProblems(path, readFileSync(path, 'utf8')))
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exitCode = 1
}
