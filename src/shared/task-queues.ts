/** The queues of slow work beside a session queue: the names that `createSessionWorker` serves and `start` uses. */
export function splitQueues(taskQueue: string): { readonly models: string; readonly tools: string } {
  return { models: `${taskQueue}-models`, tools: `${taskQueue}-tools` }
}
