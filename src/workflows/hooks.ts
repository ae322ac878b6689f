// For a workflow of one's own: compaction in it, the two decisions of the seam, the ids that name why an attempt runs, and the messages of a session.

export { mayRetryRequest, newestReading, pressureWantsCompaction } from '../shared/compaction/decisions.ts'
export type { CompactionInput, CompactionOutcome, CompactionRecord, Reading } from '../shared/protocol.ts'
export { DEFAULT_TASK_QUEUE, WORKFLOWS } from '../shared/protocol.ts'
export { compactionIds } from '../shared/session/keys.ts'
export {
  cancelCompactionSignal,
  cancelTurnSignal,
  closeSignal,
  compactionHistoryQuery,
  configureUpdate,
  contextReadingQuery,
  pinSignal,
  promptSignal,
  requestCompactionSignal,
  sessionStateQuery,
  submitCompactionUpdate,
  submitPromptUpdate,
  undoCompactionUpdate,
  unpinSignal,
} from './messages.ts'
export type { CarriedHooks } from './own/carried-hooks.ts'
export {
  type ArrayStep,
  type CompactionHooks,
  type CompactNowOptions,
  compactionHooks,
  type LogStep,
} from './own/compaction-hooks.ts'
export type { CompactionHooksOptions } from './own/own-session.ts'
