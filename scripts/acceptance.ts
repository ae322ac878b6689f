import { writeFileSync } from 'node:fs'
import { acceptanceTables } from './acceptance-tables.ts'

// Writes the columns of tests of docs/acceptance.md and docs/faults.md, and lists what is open. With --check, writes
// nothing and fails when they are stale.

const check = process.argv.includes('--check')
const { pages, open, problems } = acceptanceTables()
for (const { path, page, stale } of pages) {
  if (!stale) continue
  if (check) problems.push(`${path} is stale: run \`node --import tsx scripts/acceptance.ts\` and commit it`)
  else writeFileSync(path, page)
}
if (!check) console.log(`${open.length} open: ${open.join(', ')}`)
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exitCode = 1
}
