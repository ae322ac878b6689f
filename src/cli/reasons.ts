export { reasonText } from '../shared/compaction/reason-text.ts'
