import type { ContentBlock } from './content.ts'
import { isProviderBlock } from './provider-calls.ts'

/** Stop reasons after which every block of a reply is whole. After any other, also one that nobody knows, its calls may be half written. */
const WHOLE: ReadonlySet<string> = new Set(['end_turn', 'tool_use', 'stop_sequence', 'pause_turn'])

/** A limit cut the reply off, of its own length or of the window. */
const CUT_OFF: ReadonlySet<string> = new Set(['max_tokens', 'model_context_window_exceeded'])

/** Whether the calls of a reply may run. */
export const isWhole = (stopReason: string): boolean => WHOLE.has(stopReason)

export const isCutOff = (stopReason: string): boolean => CUT_OFF.has(stopReason)

/** The provider's own tools are at work: the same messages with this reply at their end let it go on. */
export const isPaused = (stopReason: string, content: readonly ContentBlock[]): boolean =>
  stopReason === 'pause_turn' && content.some(isProviderBlock)
