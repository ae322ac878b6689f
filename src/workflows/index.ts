// Every export of this file is a workflow: re-export them from the entry of a worker's own bundle.
export { agentSession } from './agent-session.ts'
export { sessionCompaction } from './session-compaction.ts'
