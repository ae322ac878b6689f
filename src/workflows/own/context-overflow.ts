import { classifyRefusal } from '../../shared/refusals/classify.ts'
import { failureMessage, failureType, overflowGeneration } from '../failures.ts'

/** True for a failure that says that the request does not fit the window: ours, or a provider's own that an activity passed on as it is. */
export function isContextOverflow(error: unknown): boolean {
  const type = failureType(error)
  if (type === 'ContextOverflow' || type === 'ContextOverflowError') return true
  if (overflowGeneration(error) !== undefined) return true
  return classifyRefusal({ text: failureMessage(error) })?.kind === 'context-overflow'
}
