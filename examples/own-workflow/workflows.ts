// One's own agents, and the child that compacts for them.
export { sessionCompaction } from 'durable-compaction/workflows'
export { arrayAgent } from './array-mode.ts'
export { logAgent } from './log-mode.ts'
