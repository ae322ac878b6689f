export { replayModel, replayTools } from '../activities/models/replay.ts'
export {
  type ScriptedAnswer,
  type ScriptedModelOptions,
  type ScriptedReply,
  scriptedModel,
} from '../activities/models/scripted.ts'
export { fileTools } from '../activities/tools/file-tools.ts'
export {
  createSessionWorker,
  type SessionWorker,
  type SessionWorkerOptions,
  WORKER_DEFAULTS,
} from './create-session-worker.ts'
export { type Reconciler, type ReconcilerOptions, startReconciler } from './reconciler.ts'
export { temporalRuns } from './workflow-runs.ts'
