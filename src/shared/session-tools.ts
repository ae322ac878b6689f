import { COMPACT_TOOL } from './compaction/compact-tool.ts'
import type { ResolvedPolicy } from './compaction/policy-schema.ts'
import { HISTORY_TOOL } from './recall/history-tool.ts'
import type { ToolDefinition } from './session/events.ts'

/** What a session offers its model beside the worker's tools, and answers itself. */
export const sessionTools = ({
  compactTool,
  historyTool,
}: Pick<ResolvedPolicy, 'compactTool' | 'historyTool'>): ToolDefinition[] => [
  ...(compactTool ? [COMPACT_TOOL] : []),
  ...(historyTool ? [HISTORY_TOOL] : []),
]
