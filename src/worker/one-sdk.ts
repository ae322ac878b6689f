import { NativeConnection } from '@temporalio/worker'
import { SessionError } from '../shared/errors.ts'

/**
 * Two copies of Temporal's SDK in one process cannot share a connection: its native part fails with a message that names neither. Package managers keep one
 * copy as long as the application's version is in the range of our peer dependencies.
 *
 * @throws SessionError `InvalidInput` for a `NativeConnection` of another copy
 */
export function requireOneSdk(connection: object): void {
  if (connection instanceof NativeConnection || connection.constructor.name !== NativeConnection.name) return
  throw new SessionError(
    'InvalidInput',
    'The connection was made by another copy of @temporalio/worker than the one that durable-compaction found: install one version of every @temporalio package, in the range of its peer dependencies; `npm ls @temporalio/worker` shows the copies.',
  )
}
