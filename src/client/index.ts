export { COMPACT_CHECKPOINT_SOURCE, isCompactCheckpointSource } from '../shared/checkpoint-source.ts'
export type { CompactionPreview } from '../shared/compaction/preview.ts'
export {
  type CompactionErrorCode,
  type ErrorName,
  isSessionError,
  ManualCompactionError,
  type ManualCompactionErrorCode,
  SessionError,
} from '../shared/errors.ts'
export type {
  CancelReceipt,
  CompactionRecord,
  CompactionRequest,
  Reading,
  Receipt,
  SessionState,
} from '../shared/protocol.ts'
export type { ContentBlock, Message } from '../shared/session/content.ts'
export type {
  CompactionCause,
  CompactionTrigger,
  SessionEvent,
  TurnEndReason,
  Usage,
} from '../shared/session/events.ts'
export type { UsagePurpose, UsageTotal } from '../shared/usage/ledger.ts'
export { PRICES, type Price, type PriceTable } from '../shared/usage/prices.ts'
export type { PricedUsage, UsageReport } from '../shared/usage/report.ts'
export {
  cancelCompactionSignal,
  cancelCompactionUpdate,
  cancelTurnSignal,
  cancelTurnUpdate,
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
} from '../workflows/messages.ts'
export type { CompactionResult } from './compaction-result.ts'
export type { SessionCompaction } from './compactions.ts'
export type { ConfigureResult, ControlOptions, PinResult, UndoResult, UnpinResult } from './control.ts'
export type { PreviewOptions } from './preview.ts'
export { type CompactOptions, type ConfigureOptions, Session } from './session.ts'
export { SessionClient, type SessionClientOptions } from './session-client.ts'
export type { StartOptions } from './start-session.ts'
export { Turn, type TurnResult } from './turn.ts'
export type { Watched, WatchOptions } from './watch.ts'
