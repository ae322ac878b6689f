import type { CompactionHooks, FailedCompaction } from '../../shared/ports/hooks.ts'
import { callHook } from './call-hook.ts'

/**
 * Calls `compactionFailed` where the worker has it. What it failed with comes back as a sentence.
 *
 * @param cancelled default: the cancel of the running activity
 */
export async function tellFailed(
  hooks: CompactionHooks | undefined,
  compaction: Omit<FailedCompaction, 'signal'>,
  cancelled?: AbortSignal,
): Promise<string | undefined> {
  if (hooks?.compactionFailed === undefined) return undefined
  const call = async (signal: AbortSignal) => hooks.compactionFailed?.({ ...compaction, signal })
  const answer = await callHook('compactionFailed', hooks.timeoutMs, call, cancelled)
  return 'error' in answer ? answer.error : undefined
}
