import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { PROVIDER_FAULTS } from '../test/support/provider-faults/faults.ts'
import { openObserver, TABLE_HEAD } from '../test/support/provider-faults/table.ts'

// Writes the table of docs/provider-faults.md: each fault is played over real HTTP to both clients, and what was seen is written down.

const path = resolve(import.meta.dirname, '../docs/provider-faults.md')
const observer = await openObserver()
const rows: string[] = []
for (const fault of PROVIDER_FAULTS) rows.push(await observer.row(fault))
await observer.close()
const prose = readFileSync(path, 'utf8')
  .split('\n')
  .filter((line) => !line.startsWith('|'))
const at = prose.indexOf('<!-- the table: scripts/write-provider-faults.ts -->') + 1
writeFileSync(path, [...prose.slice(0, at), ...TABLE_HEAD, ...rows, ...prose.slice(at)].join('\n'))
