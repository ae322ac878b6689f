import { proxyActivities } from '@temporalio/workflow'

interface WholeTranscriptActivities {
  generate(messages: readonly string[]): Promise<string>
  runTool(input: string): Promise<string>
}

const { generate, runTool } = proxyActivities<WholeTranscriptActivities>({
  startToCloseTimeout: '1m',
  retry: { maximumAttempts: 1 },
})

/** An agent that keeps its messages in the workflow and passes all of them to each model call, as agents on Temporal commonly do. */
export async function wholeTranscript(contextTokens: number, steps: number): Promise<number> {
  const messages = [' word'.repeat(contextTokens)]
  for (let step = 0; step < steps; step++) {
    messages.push(await generate(messages))
    messages.push(...(await Promise.all([runTool('a'), runTool('b')])))
  }
  return messages.length
}
