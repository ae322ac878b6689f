import { fileURLToPath } from 'node:url'
import type { WorkerOptions } from '@temporalio/worker'

/**
 * Why each: a cancel arrives with the answer to a beat, which Temporal would bundle for up to 60 s: each of our beats, two a second, is sent at once;
 * a session whose worker died answers after 2 s; running activities get a minute to end.
 */
export const WORKER_DEFAULTS = {
  maxHeartbeatThrottleInterval: '300ms',
  defaultHeartbeatThrottleInterval: '300ms',
  stickyQueueScheduleToStartTimeout: '2s',
  shutdownGraceTime: '60s',
} as const satisfies Partial<WorkerOptions>

/**
 * How long one activation of a workflow may take. The SDK's type does not name the option, and its default of 5 s goes by the clock: on a machine that gets no
 * processor for that long it stops workflow code that does nothing wrong. Code that never ends is still stopped.
 */
export const STARVED_MACHINE = { isolateExecutionTimeout: '30s' }

/** This package's workflows: the sources when run from the repository, the built files in the package. */
export function sessionWorkflowsPath(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return fileURLToPath(new URL(`../workflows/index.${extension}`, import.meta.url))
}
