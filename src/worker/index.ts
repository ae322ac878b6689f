export { type Reconciler, type ReconcilerOptions, startReconciler } from './reconciler.ts'
export { createSessionWorker, type SessionWorker, type SessionWorkerOptions, WORKER_DEFAULTS } from './create-session-worker.ts'
export { temporalRuns } from './workflow-runs.ts'
