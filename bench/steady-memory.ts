import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { formatCount, formatTable } from '../src/cli/table.ts'
import { findTemporalCli } from '../src/worker/dev-server/find-cli.ts'
import { startDevServer } from '../src/worker/dev-server/start-dev-server.ts'
import type { MemorySample } from './memory/steady-worker.ts'

/** Tokens of the context of every measured step. */
const CONTEXT_TOKENS = 200_000
const STEPS = { long: 1_000, short: 40, warmUp: 20 } as const
/** What the later half may need beyond the first: a leak of one context (1 MB of text) in fifty steps is above it. */
const MOST_GROWTH_MB = { long: 20, short: 60 } as const

/** Memory of one worker, in a process of its own, that runs step after step with a large context. Returns what is above its bound. */
export async function benchSteadyMemory(long: boolean): Promise<string[]> {
  const server = await startDevServer({ cliPath: (await findTemporalCli()).path })
  const steps = long ? STEPS.long : STEPS.short
  try {
    const samples = await measured(server.address, STEPS.warmUp + steps)
    const steady = samples.filter(({ step }) => step > STEPS.warmUp)
    const quarters = [0, 1, 2, 3].map((n) =>
      steady.slice(Math.round((n * steady.length) / 4), Math.round(((n + 1) * steady.length) / 4)),
    )
    console.log(
      `\nMemory of one worker, ${formatCount(steps)} steps after ${STEPS.warmUp} to warm up, each with a context of about ${formatCount(CONTEXT_TOKENS)} tokens\n`,
    )
    const header = ['steps', 'live heap, MB', 'resident: median, MB', 'most, MB']
    const rows = quarters.map((quarter) => [
      `${quarter[0]?.step} … ${quarter.at(-1)?.step}`,
      Math.round(median(quarter.map(({ heapMb }) => heapMb))),
      Math.round(median(quarter.map(({ residentMb }) => residentMb))),
      Math.round(Math.max(...quarter.map(({ residentMb }) => residentMb))),
    ])
    console.log(formatTable(header, rows))
    const [first = [], , , last = []] = quarters
    const growth = (of: (sample: MemorySample) => number) => median(last.map(of)) - median(first.map(of))
    const bound = long ? MOST_GROWTH_MB.long : MOST_GROWTH_MB.short
    const grown = growth(({ heapMb }) => heapMb)
    return grown <= bound
      ? []
      : [`memory of a worker: the live heap grew by ${Math.round(grown)} MB, allowed are ${bound}`]
  } finally {
    await server.stop()
  }
}

async function measured(address: string, steps: number): Promise<MemorySample[]> {
  const path = fileURLToPath(new URL('memory/steady-worker.ts', import.meta.url))
  const samples: MemorySample[] = []
  const setting = { address, steps, contextTokens: CONTEXT_TOKENS }
  const worker = spawn(process.execPath, ['--expose-gc', '--import', 'tsx', path, JSON.stringify(setting)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  worker.on('message', (sample) => samples.push(sample as MemorySample))
  const [code] = await once(worker, 'exit')
  if (code !== 0) throw new Error(`the worker that was measured ended with code ${code}`)
  return samples
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
