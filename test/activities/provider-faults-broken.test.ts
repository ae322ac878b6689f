import { BODIES } from '../support/provider-faults/faults.ts'
import { testRows } from '../support/provider-faults/table.ts'

testRows(BODIES)
