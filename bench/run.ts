import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { benchCacheShare } from './cache-share.ts'
import { benchSessionHistory } from './session-history.ts'
import { benchSteadyMemory } from './steady-memory.ts'
import { benchStoreScale } from './store-scale.ts'
import { benchSurface } from './surface.ts'

// `npm run bench [-- --short | --long] [-- NAME…]`: every benchmark in one run, as ratios. Exit 1 when one is above its bound. `--long`: 1,000 steps for memory.
const short = process.argv.includes('--short')
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const wanted = (name: string) => names.length === 0 || names.includes(name)

const problems: string[] = []
if (wanted('history')) problems.push(...(await benchSessionHistory(short)))
if (wanted('surface')) problems.push(...(await benchSurface(short)))
if (wanted('cache')) problems.push(...(await benchCacheShare(short)))
if (wanted('memory')) problems.push(...(await benchSteadyMemory(process.argv.includes('--long'))))
if (wanted('store')) problems.push(...(await benchStoreScale(short)))
for (const [name, file] of [
  ['live', 'live-text.ts'],
  ['counter', 'counter.ts'],
  ['ledger', 'ledger/recall.ts'],
] as const) {
  if (!wanted(name)) continue
  // Processes of their own: their memory and their caches are part of what they measure.
  const path = fileURLToPath(new URL(file, import.meta.url))
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', path, ...(short ? ['--short'] : [])], {
    stdio: 'inherit',
  })
  if (status !== 0) problems.push(`${name} ended with code ${status}`)
}
for (const problem of problems) console.error(`above its bound: ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)
