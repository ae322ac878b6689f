import { LIMITS } from '../../shared/limits.ts'
import type { CompactionHooks } from '../../shared/ports/hooks.ts'

const HOOKS = ['beforeCompaction', 'afterCompaction', 'compactionFailed'] as const satisfies readonly Exclude<
  keyof CompactionHooks,
  'timeoutMs'
>[]

/** Why hooks cannot be used, in one sentence, or undefined. A misspelt hook would never be called. */
export function hookProblem(hooks: CompactionHooks | undefined): string | undefined {
  for (const [name, value] of Object.entries(hooks ?? {})) {
    if (name === 'timeoutMs') {
      if (!Number.isInteger(value) || value < 1 || value > LIMITS.hookMs)
        return `hooks.timeoutMs must be a whole number of milliseconds from 1 to ${LIMITS.hookMs}, got ${JSON.stringify(value)}.`
    } else if (!HOOKS.some((known) => known === name)) {
      return `hooks has no ${JSON.stringify(name)}: it may have ${HOOKS.join(', ')} and timeoutMs.`
    } else if (value !== undefined && typeof value !== 'function') {
      return `hooks.${name} must be an async function, got ${JSON.stringify(value)}.`
    }
  }
  return undefined
}
