import { writeSync } from 'node:fs'
import { appendTo } from '../../src/store/contract/harness.ts'
import { userMessage } from '../../src/store/contract/sample-events.ts'
import { sqliteStore } from '../../src/store/index.ts'

/** Writes batches of three until it is killed; says the number of a batch only when it was acknowledged. */
const [path = '', name = ''] = process.argv.slice(2)
const store = sqliteStore({ path })
for (let batch = 0; ; batch++) {
  const events = [0, 1, 2].map((part) => userMessage(`${name}-${batch}-${part}`, 'words '.repeat(50)))
  await appendTo(store, null, events)
  writeSync(1, `${batch}\n`)
}
