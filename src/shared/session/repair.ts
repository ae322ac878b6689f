import { text } from './content.ts'
import type { NewEvent } from './events.ts'
import { keys } from './keys.ts'

/** The fixed result of a call whose outcome is not known. `tokens` is its price by our counter, which pure code cannot ask. */
export const INTERRUPTED_RESULT = {
  content: [
    text(
      'Interrupted: this call ended without a recorded result, so its outcome is not known. It may have taken effect. Check before you run it again.',
    ),
  ],
  tokens: 34,
} as const

/** A call without a result, in its step. */
export interface OpenCall {
  readonly callId: string
  readonly name: string
  readonly turn: number
  readonly step: number
}

/** The event that answers such a call. It takes the key of the real result, so whichever is written first stays. */
export function interruptedResult({ callId, name, turn, step }: OpenCall): NewEvent<'tool/result'> {
  return {
    key: keys.toolResult(turn, step, callId),
    type: 'tool/result',
    turn,
    step,
    data: { callId, name, content: [...INTERRUPTED_RESULT.content], isError: true },
    tokens: INTERRUPTED_RESULT.tokens,
    surfaceOp: 'append',
  }
}
