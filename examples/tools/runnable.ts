// A runnable tool of the Anthropic SDK, as it is.
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { z } from 'zod'
import { ask } from './ask.ts'

const weather = betaZodTool({
  name: 'weather',
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string().min(1) }),
  run: async ({ city }) => `${city}: 4 degrees`,
})

// The rules stand beside its own fields.
await ask([{ ...weather, timeoutMs: 30_000, idempotent: true }], { name: 'weather', input: { city: 'Oslo' } })
