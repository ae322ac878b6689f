// A function of one's own, with its own time-out and retries.
import { defineTool } from 'durable-compaction/worker'
import { z } from 'zod'
import { ask } from './ask.ts'

let tries = 0

const weather = defineTool({
  name: 'weather',
  description: 'The weather of a city.',
  input: z.object({ city: z.string().min(1) }),
  timeoutMs: 30_000, // Of one attempt.
  idempotent: true, // It only reads: it may run again after a failure, or when its worker has died.
  retries: 2,
  async run({ city }, { signal }) {
    signal.throwIfAborted() // Give it to fetch and the like: it aborts on cancel and at the time-out.
    if (++tries === 1) throw new Error('the station does not answer')
    return `${city}: 4 degrees`
  },
})

await ask([weather], { name: 'weather', input: { city: 'Oslo' } })
