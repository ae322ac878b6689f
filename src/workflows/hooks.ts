// Sandbox-safe parts for a workflow of one's own: the two decisions of the seam, the ids that name why an attempt runs, and the messages of a session.

export type { CompactionInput, CompactionOutcome, Reading } from '../shared/protocol.ts'
export { DEFAULT_TASK_QUEUE, WORKFLOWS } from '../shared/protocol.ts'
export { compactionIds } from '../shared/session/keys.ts'
export { mayRetryRequest, newestReading, pressureWantsCompaction } from './decisions.ts'
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
