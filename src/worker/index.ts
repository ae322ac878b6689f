export {
  type AnthropicModelsOptions,
  anthropicModels,
} from '../activities/models/anthropic/anthropic-models.ts'
export {
  type OpenAIClient,
  type OpenAIModelsOptions,
  openaiModels,
} from '../activities/models/openai/openai-models.ts'
export { replayModel, replayTools } from '../activities/models/replay.ts'
export {
  type ScriptedAnswer,
  type ScriptedModelOptions,
  type ScriptedReply,
  scriptedModel,
} from '../activities/models/scripted.ts'
export { type ActivityToolOptions, activityTool } from '../activities/tools/activity-tool.ts'
export { type FileToolsOptions, fileTools } from '../activities/tools/file-tools.ts'
export type { McpHttpServer, McpServer, McpStdioServer } from '../activities/tools/mcp/mcp-server.ts'
export { type McpTool, mcpTools } from '../activities/tools/mcp/mcp-tools.ts'
export type { RunnableTool } from '../activities/tools/runnable-tool.ts'
export type { WorkerTool } from '../activities/tools/toolbox.ts'
export { temporalRuns } from '../activities/workflow-runs.ts'
export { defineTool } from '../shared/define-tool.ts'
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
} from './create-session-worker.ts'
export { DurableCompactionPlugin } from './durable-compaction-plugin.ts'
export { type Reconciler, type ReconcilerOptions, startReconciler } from './reconciler.ts'
export type { SessionServiceOptions } from './session-services.ts'
export { WORKER_DEFAULTS } from './worker-defaults.ts'
