import type { Clock } from '../shared/ports/clock.ts'
import type { CompactionHooks } from '../shared/ports/hooks.ts'
import type { ModelClient } from '../shared/ports/model.ts'
import type { SessionStore } from '../shared/ports/store.ts'
import type { Summarizer } from '../shared/ports/summarizer.ts'
import type { AnyTool } from '../shared/ports/tool.ts'

/** What the server says of a workflow. */
export interface WorkflowRun {
  readonly runId: string
  /** First run of its chain: stable across continue-as-new and reset. */
  readonly firstRunId: string
  readonly running: boolean
}

/** Asks the Temporal server. */
export interface WorkflowRuns {
  /** The workflow's current run, or the named one; null when the server does not know it. */
  describe(workflowId: string, runId?: string): Promise<WorkflowRun | null>
}

export interface ActivityDeps {
  readonly store: SessionStore
  /** By provider. */
  readonly models: Readonly<Record<string, ModelClient>>
  readonly tools: readonly AnyTool[]
  /** Overrides what the policy names. */
  readonly summarizer?: Summarizer
  readonly hooks?: CompactionHooks
  readonly runs: WorkflowRuns
  /** Id of the Temporal cluster, kept with each attempt so that another cluster's worker leaves it alone. */
  readonly cluster: string
  readonly clock: Clock
  /** Root of the tools' paths: checkpoints name paths below it relative to it. Default: paths stay as they are. */
  readonly workingDirectory?: string
}
