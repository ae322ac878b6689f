/**
 * The pure core, `durable-compaction/core`: the session log and what is derived from it, the policy, the plans of a compaction, and the
 * ports that a store, a model or a summarizer of one's own implements. No I/O, no clock, no randomness; loads in a browser and in
 * Temporal's sandbox. The token counter is not here: it holds 2.3 MB of ranks, so its users hand it in as `countTokens`.
 */

export { COMPACT_CHECKPOINT_SOURCE, isCompactCheckpointSource } from './checkpoint-source.ts'
export { buildCheckpoint, type Checkpoint, type CheckpointInput } from './compaction/checkpoint.ts'
export { type CheckpointBudget, checkpointBudget } from './compaction/checkpoint-budget.ts'
export { chunkLimit, planChunks } from './compaction/chunks.ts'
export { deterministicSummarizer } from './compaction/deterministic-summarizer.ts'
export { type GateLimits, judgeSummary } from './compaction/gate.ts'
export {
  contextTokens,
  firstRatio,
  initialMeter,
  learnFromUsage,
  type MeasuredCall,
  type MeterState,
  meterStateSchema,
  ratioOf,
  withFirstRatio,
} from './compaction/meter.ts'
export { planMicro } from './compaction/micro.ts'
export { modelSummarizer } from './compaction/model-summarizer.ts'
export { type ModelFacts, resolvePolicy } from './compaction/policy.ts'
export {
  type ModelOverride,
  type PolicyInput,
  type PolicySettings,
  policyInputSchema,
} from './compaction/policy-input.ts'
export { type ModelRef, type ResolvedPolicy, resolvedPolicySchema } from './compaction/policy-schema.ts'
export { PRESETS, type PresetName } from './compaction/presets.ts'
export { modelKeyOf, type ReadingInput, takeReading } from './compaction/pressure.ts'
export {
  measureContent,
  type PruneOptions,
  type PruneSettings,
  planPrune,
  pruneContent,
  type ShadowCopy,
  shadowEvents,
} from './compaction/prune.ts'
export { type NothingReason, type SelectedSpan, type SpanInput, selectSpan } from './compaction/span.ts'
export { defineTool } from './define-tool.ts'
export {
  COMPACTION_ERROR_CODES,
  type CompactionErrorCode,
  ERROR_NAMES,
  type ErrorName,
  isSessionError,
  ManualCompactionError,
  type ManualCompactionErrorCode,
  SessionError,
} from './errors.ts'
export { LIMITS } from './limits.ts'
export type { BodyCodec } from './ports/body-codec.ts'
export type { Clock } from './ports/clock.ts'
export type { Delivery, InboxKind, InboxRow, InboxState, PutInbox } from './ports/inbox.ts'
export {
  ContextOverflowError,
  type ModelCallContext,
  ModelCallError,
  type ModelCapacity,
  type ModelClient,
  type ModelDelta,
  type ModelReply,
  type ModelRequest,
} from './ports/model.ts'
export type {
  Actor,
  ActorInput,
  Append,
  AttemptInput,
  AttemptRow,
  AttemptsQuery,
  CloseAttempt,
  CommitAttempt,
  CompactionPlan,
  CreateSession,
  EndTurn,
  EventsQuery,
  MeasuredNode,
  OpenAttempt,
  PricedMessage,
  SessionRow,
  SessionStore,
  StartTurn,
  StoredSummary,
  SurfaceMeasure,
  SurfaceSnapshot,
  TakeOver,
  TurnRow,
  Written,
} from './ports/store.ts'
export {
  type PaidCalls,
  type SummarizeInput,
  type Summarizer,
  type Summary,
  SummaryFailed,
} from './ports/summarizer.ts'
export type {
  ActivityTool,
  ActivityToolContext,
  Tool,
  ToolContext,
  ToolInput,
  ToolOutput,
  ToolRules,
} from './ports/tool.ts'
export type {
  CompactionOutcome,
  CompactionRecord,
  CompactionRequest,
  Paid,
  Reading,
  Receipt,
  SessionStart,
  SessionState,
  Span,
  WhenBusy,
} from './protocol.ts'
export { classifyRefusal, type ProviderWords, type Refusal, type RefusalKind } from './refusals/classify.ts'
export {
  type FailedCall,
  type FailureKind,
  type ProviderFailure,
  providerFailure,
} from './refusals/provider-failure.ts'
export { redact } from './refusals/redact.ts'
export { failureOf, modelErrorOf, overflowOf, refusalOf } from './refusals/refusal-of.ts'
export {
  type ContentBlock,
  contentSchema,
  isText,
  isThinking,
  isToolResult,
  isToolUse,
  type Message,
  type TextBlock,
  type ThinkingBlock,
  type ToolResultBlock,
  type ToolUseBlock,
  text,
} from './session/content.ts'
export {
  type CompactionCause,
  type CompactionTrigger,
  type EventData,
  type EventType,
  eventDataSchemas,
  type Header,
  headerSchema,
  isSurfaceType,
  type Lost,
  type MessageSource,
  type NewEvent,
  parseEventData,
  type RefusalReason,
  type SessionEvent,
  type SurfaceNode,
  type SurfaceOp,
  type ToolDefinition,
  type TurnEndReason,
  type Usage,
} from './session/events.ts'
export { compactionIds, keys } from './session/keys.ts'
export { applyBatch, applyEvent, emptyLog, foldLog, type LogState } from './session/log.ts'
export { deriveMessages } from './session/messages.ts'
export { interruptedResult } from './session/repair.ts'
export { type RequestExpectation, requestProblems } from './session/request-check.ts'
export {
  toolPairingBalancedAfter,
  toolPairingBalancedBefore,
  type Unit,
  unansweredCalls,
  unitsOf,
} from './session/tool-pairing.ts'
export {
  ledgerOf,
  totalOf,
  type UsageLedger,
  type UsageLine,
  type UsagePurpose,
  type UsageTotal,
} from './usage/ledger.ts'
export { costUsd, PRICES, type Price, type PriceTable, priceOf } from './usage/prices.ts'
export { type PricedUsage, type UsageReport, usageReport } from './usage/report.ts'
