export { replayModel, replayTools } from '../activities/models/replay.ts'
export {
  type ScriptedAnswer,
  type ScriptedModelOptions,
  type ScriptedReply,
  scriptedModel,
} from '../activities/models/scripted.ts'
export { fileTools } from '../activities/tools/file-tools.ts'
export { temporalRuns } from '../activities/workflow-runs.ts'
export type {
  CompactionHooks,
  CompletedCompaction,
  FailedCompaction,
  HookedCompaction,
  HookMessages,
  HookVerdict,
  PlannedCompaction,
} from '../shared/ports/hooks.ts'
export {
  createSessionWorker,
  type SessionWorker,
  type SessionWorkerOptions,
  WORKER_DEFAULTS,
} from './create-session-worker.ts'
export { type Reconciler, type ReconcilerOptions, startReconciler } from './reconciler.ts'
