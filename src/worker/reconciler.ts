import { randomUUID } from 'node:crypto'
import type { WorkflowRuns } from '../activities/deps.ts'
import { tellFailed } from '../activities/hooks/tell-failed.ts'
import type { Clock } from '../shared/ports/clock.ts'
import type { CompactionHooks } from '../shared/ports/hooks.ts'
import type { AttemptRow, SessionStore } from '../shared/ports/store.ts'

export interface ReconcilerOptions {
  readonly store: SessionStore
  readonly runs: WorkflowRuns
  /** Ends a child that is past its deadline. */
  readonly terminate: (workflowId: string, reason: string) => Promise<void>
  readonly namespace: string
  readonly cluster: string
  readonly clock: Clock
  readonly hooks?: CompactionHooks | undefined
  /** Default 60,000, with up to a tenth of jitter. */
  readonly intervalMs?: number
  /** Attempts younger than this are left alone; default 60,000. */
  readonly minAgeMs?: number
  /** What was closed, and errors of a round, for the log. */
  readonly onClosed?: (attempt: AttemptRow, why: string) => void
  readonly onError?: (error: unknown) => void
}

/** A child may need this long after its deadline to close its own bracket. */
const DEADLINE_GRACE_MS = 60_000
const DEFAULT_INTERVAL_MS = 60_000
const DEFAULT_MIN_AGE_MS = 60_000
const JITTER = 0.1

export interface Reconciler {
  /** One round; returns how many attempts it closed. */
  round(): Promise<number>
  stop(): void
}

/**
 * Closes brackets that nobody works on any more: the last of the closers. It asks the server for the child of each open attempt of its own namespace and
 * cluster; whatever it is not sure of, it leaves alone.
 */
export function startReconciler(options: ReconcilerOptions): Reconciler {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const round = () => reconcile(options)
  const schedule = () => {
    if (stopped) return
    const interval = options.intervalMs ?? DEFAULT_INTERVAL_MS
    timer = setTimeout(
      () =>
        void round()
          .catch((error: unknown) => options.onError?.(error))
          .finally(schedule),
      interval * (1 + Math.random() * JITTER),
    )
    timer.unref()
  }
  schedule()
  return {
    round,
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

async function reconcile(options: ReconcilerOptions): Promise<number> {
  const { store, namespace, cluster, clock, minAgeMs = DEFAULT_MIN_AGE_MS } = options
  let closed = 0
  for (const attempt of await store.attempts({ state: 'open' })) {
    if (attempt.namespace !== namespace || attempt.cluster !== cluster) continue
    if (clock() - attempt.startedAt < minAgeMs) continue
    try {
      const why = await whyDead(options, attempt)
      if (why === null) continue
      // By its own name a round knows whether the recorded end is the one that it wrote: only then it is the one to tell.
      const stage = `reconciler ${randomUUID().slice(0, 8)}`
      const error = { code: 'interrupted' as const, stage, message: why }
      const { sessionId, compactionId } = attempt
      const ended = await store.closeAttempt({ sessionId, compactionId, error })
      if (ended.outcome?.error?.stage !== stage) continue
      closed++
      options.onClosed?.(attempt, why)
      await tellIfAlone(options, ended)
    } catch (error) {
      options.onError?.(error)
    }
  }
  return closed
}

/** The parent tells the hooks of an attempt that it waits for; without one, nobody else would. At most once: not again when the worker ends here, or the hook fails. */
async function tellIfAlone(
  { store, runs, hooks }: ReconcilerOptions,
  { sessionId, compactionId, cause, turn, focus, outcome }: AttemptRow,
): Promise<void> {
  const { error, tokensBefore = 0, paid } = outcome ?? {}
  if (hooks?.compactionFailed === undefined || error === undefined || paid === undefined) return
  const owner = (await store.session(sessionId))?.owner
  if (owner === undefined || (await runs.describe(owner.workflowId))?.running) return
  const told = { sessionId, compactionId, cause, turn, ...(focus === undefined ? {} : { focus }) }
  const problem = await tellFailed(
    hooks,
    { ...told, tokensBefore, error, paid },
    new AbortController().signal,
  )
  if (problem !== undefined) throw new Error(problem)
}

async function whyDead(
  { runs, terminate, clock }: ReconcilerOptions,
  attempt: AttemptRow,
): Promise<string | null> {
  const child = await runs.describe(attempt.childWorkflowId)
  if (child === null) return `The server does not know its workflow ${attempt.childWorkflowId}.`
  if (!child.running) return `Its workflow ${attempt.childWorkflowId} has closed.`
  if (clock() <= attempt.deadline + DEADLINE_GRACE_MS) return null
  await terminate(attempt.childWorkflowId, 'durable-compaction: past the deadline of its attempt')
  return `Its workflow ${attempt.childWorkflowId} ran past its deadline and was terminated.`
}
