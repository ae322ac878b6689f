import { failureMessage, failureType, overflowGeneration } from '../failures.ts'

/** What providers say of a request that is too long, where an activity passes their failure on as it is. */
const OVERFLOW =
  /prompt is too long|input is too long|context[_ ]length[_ ]exceeded|maximum context length|exceeds? (?:the |your )?(?:model'?s )?(?:maximum )?context (?:window|limit|length)|input token count .* exceeds/i

/** True for a failure that says that the request does not fit the window, ours or the provider's own. */
export function isContextOverflow(error: unknown): boolean {
  const type = failureType(error)
  if (type === 'ContextOverflow' || type === 'ContextOverflowError') return true
  return overflowGeneration(error) !== undefined || OVERFLOW.test(failureMessage(error))
}
