import { LIMITS } from '../shared/limits.ts'
import type { CarriedState } from '../shared/protocol.ts'
import { utf8Bytes } from '../shared/session/prompt-content.ts'

// What continue-as-new hands to the next run, within its limit. Pure.

/**
 * The state cut to {@link LIMITS.carriedBytes}: first the oldest history goes, which the store has too, then the youngest waiting prompts, which the next run finds
 * in the store's inbox. What is left is bounded where it is accepted.
 */
export function fitCarried(state: CarriedState): CarriedState {
  let { history, prompts } = state
  const fitted = () => ({ ...state, history, prompts })
  while (history.length > 0 && isTooLarge(fitted())) history = history.slice(1)
  while (prompts.length > 0 && isTooLarge(fitted())) prompts = prompts.slice(0, -1)
  return fitted()
}

const isTooLarge = (state: CarriedState): boolean => utf8Bytes(JSON.stringify(state)) > LIMITS.carriedBytes
