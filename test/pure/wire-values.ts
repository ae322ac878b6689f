import type * as wire from '../../src/shared/protocol.ts'

// Values that stand in several messages.

export const content = [{ type: 'text', text: 'hello' }]
export const usage = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4 }
export const reading: Required<wire.Reading> = {
  headSeq: 7,
  generation: 1,
  tokens: 900,
  limit: 1000,
  pressure: 'none',
  off: 'window-unknown',
}
export const paid = { calls: 1, reused: 2, usage }
export const error = { code: 'summary', stage: 'summarize', message: 'too long' } as const
export const outcome: Required<wire.CompactionOutcome> = {
  v: 1,
  compactionId: 'manual.a',
  outcome: 'compacted',
  reason: 'deterministic',
  message: 'no',
  focus: 'tests',
  hookError: 'boom',
  reading,
  tokensBefore: 900,
  tokensAfter: 100,
  startSeq: 1,
  summarySeq: 2,
  checkpointSeq: 3,
  endSeq: 4,
  paid,
  model: 'p/m',
  failedModels: 'p/other (overloaded)',
  error,
}
export const outcomeOptional =
  'reason message focus hookError reading.off startSeq summarySeq checkpointSeq endSeq model failedModels error'
export const within = (path: string, optional: string) =>
  optional
    .split(' ')
    .map((name) => `${path}.${name}`)
    .join(' ')
export const record: Required<wire.CompactionRecord> = {
  compactionId: 'manual.a',
  cause: 'manual',
  turn: 1,
  focus: 'tests',
  outcome: 'running',
  reason: 'busy',
  message: 'no',
  hookError: 'boom',
  tokensBefore: 900,
  tokensAfter: 100,
  startSeq: 1,
  summarySeq: 2,
  endSeq: 4,
  paidCalls: 1,
  model: 'p/m',
  failedModels: 'p/other (overloaded)',
  errorCode: 'summary',
  errorMessage: 'too long',
  startedAt: 5,
  endedAt: 6,
}
export const recordOptional =
  'focus reason message hookError tokensBefore tokensAfter startSeq summarySeq endSeq paidCalls model failedModels errorCode errorMessage endedAt'
export const base = { v: 1, sessionId: 's' } as const
export const inTurn = { ...base, turn: 1, step: 2 }
export const taskQueues = { models: 'm', tools: 't' }
export const span = { start: 1, end: 2 }
export const start = {
  model: 'anthropic/claude',
  system: 'be brief',
  tools: ['bash'],
  sampling: { temperature: 0 },
  policy: { auto: false },
  preset: 'lean',
}
export const startOptional = 'system tools sampling policy preset'
export const compaction = {
  ...base,
  compactionId: 'manual.a',
  turn: 1,
  cause: 'manual' as const,
  focus: 'tests',
  span,
  requestIds: ['r'],
  taskQueues,
  heartbeatTimeoutMs: 1000,
}
export const compactionOptional =
  'focus span requestIds taskQueues taskQueues.models taskQueues.tools heartbeatTimeoutMs'
export const parent = { workflowId: 'w', runId: 'r' }
export const header = {
  provider: 'anthropic',
  model: 'claude',
  system: 'be brief',
  tools: [{ name: 'bash', description: 'runs', input_schema: { type: 'object' }, type: 'custom' as const }],
  maxTokens: 100,
  sampling: { temperature: 0 },
}
