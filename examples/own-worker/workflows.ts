// The workflows of the worker: one's own, and the two of a session.
export { agentSession, sessionCompaction } from 'durable-compaction/workflows'
export { reportDelay } from './report-delay.ts'
