import { describe } from 'node:test'
import { endingTests } from './contract/attempt-ends-tests.ts'
import { openingTests } from './contract/attempts-tests.ts'
import { controlTests } from './contract/control-tests.ts'
import { handlesTests } from './contract/handles-tests.ts'
import { type OpenStore, registerTests } from './contract/harness.ts'
import { inboxTests } from './contract/inbox-tests.ts'
import { logTests } from './contract/log-tests.ts'
import { paidTests } from './contract/paid-calls-tests.ts'
import { searchTests } from './contract/search-tests.ts'
import { sessionsTests } from './contract/sessions-tests.ts'
import { turnsTests } from './contract/turns-tests.ts'
import { usageTests } from './contract/usage-tests.ts'

export type { OpenStore, StoreUnderTest } from './contract/harness.ts'

const AREAS = [
  sessionsTests,
  logTests,
  searchTests,
  turnsTests,
  openingTests,
  endingTests,
  paidTests,
  usageTests,
  inboxTests,
  controlTests,
  handlesTests,
]

/**
 * Registers with `node:test` every test that a session store must pass.
 *
 * @param name of the store, in the report
 * @param open gives an empty store; called once for each test
 * @example storeContract('sqlite', async () => ({ store, second, dispose }))
 */
export function storeContract(name: string, open: OpenStore): void {
  describe(`the contract of a session store: ${name}`, () => {
    for (const area of AREAS) {
      for (const [group, tests] of Object.entries(area)) registerTests(open, group, tests)
    }
  })
}
