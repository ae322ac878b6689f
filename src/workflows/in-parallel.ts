/**
 * Runs `work` on every item, at most `limit` at once, in order of the list. After a failure nothing new begins; all that run are waited for, and the first
 * failure is thrown.
 */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = []
  let next = 0
  const lane = async () => {
    while (failures.length === 0 && next < items.length) {
      const item = items[next++] as T
      await work(item).catch((failure: unknown) => failures.push(failure))
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane))
  if (failures.length > 0) throw failures[0]
}
