import { readFileSync } from 'node:fs'
import { COUNTERS, type Count, type CounterName } from './counters.ts'
import { unbrokenText } from './texts.ts'

/** What one process measures: a cold start on one text, or unbroken texts. */
export interface Task {
  readonly counter: CounterName
  readonly text?: { readonly content: string; readonly warmMs: number }
  readonly unbroken?: readonly { readonly name: string; readonly chars: number }[]
}

export interface Measured {
  /** Import and set-up, to the first possible count. */
  readonly loadMs: number
  readonly memoryMb: number
  /** The first count of the text in this process, and the median of later ones. */
  readonly text: { readonly firstMs: number; readonly warmMs: number; readonly tokens: number } | undefined
  readonly unbroken: readonly {
    readonly name: string
    readonly chars: number
    readonly ms: number
    readonly cpuMs: number
  }[]
}

const memoryBytes = (): number => {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function measure({ counter, text, unbroken = [] }: Task): Promise<Measured> {
  const memoryBefore = memoryBytes()
  const started = performance.now()
  const count = await COUNTERS[counter]()
  count('Hello')
  const loadMs = performance.now() - started
  const memoryMb = (memoryBytes() - memoryBefore) / 2 ** 20
  return {
    loadMs,
    memoryMb,
    text: text && measureText(count, text.content, text.warmMs),
    unbroken: unbroken.map(({ name, chars }) => measureUnbroken(count, name, chars)),
  }
}

function measureText(count: Count, content: string, warmMs: number) {
  const times: number[] = []
  let tokens = 0
  // Until the code is warm; a counter that takes seconds for one round gets two.
  for (let total = 0; times.length < 2 || total < warmMs || (times.length < 8 && total < 4 * warmMs); ) {
    const started = performance.now()
    tokens = count(content)
    times.push(performance.now() - started)
    total += times.at(-1) ?? 0
  }
  const later = times.slice(1).sort((a, b) => a - b)
  return { firstMs: times[0] ?? 0, warmMs: later[Math.floor(later.length / 2)] ?? 0, tokens }
}

function measureUnbroken(count: Count, name: string, chars: number) {
  // Warm code, but no text that a cache could hold.
  for (let extra = 0; extra < 50; extra++) count(unbrokenText(name, 150 + extra))
  const text = unbrokenText(name, chars)
  const cpu = process.cpuUsage()
  const started = performance.now()
  count(text)
  const ms = performance.now() - started
  const { user, system } = process.cpuUsage(cpu)
  return { name, chars, ms, cpuMs: (user + system) / 1000 }
}

// The task comes on standard input, since the text is part of it.
process.stdout.write(JSON.stringify(await measure(JSON.parse(readFileSync(0, 'utf8')) as Task)))
