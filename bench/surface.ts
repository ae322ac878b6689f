import { Bench } from 'tinybench'
import { formatCount, formatTable } from '../src/cli/table.ts'
import { resolvePolicy } from '../src/shared/compaction/policy.ts'
import { planPrune } from '../src/shared/compaction/prune.ts'
import { selectSpan } from '../src/shared/compaction/span.ts'
import type { SurfaceNode } from '../src/shared/session/events.ts'
import { deriveMessages } from '../src/shared/session/messages.ts'

const SIZES = [250, 1_000, 4_000] as const
const POLICY = resolvePolicy(
  {},
  { provider: 'bench', model: 'bench', contextWindow: 200_000, maxOutputTokens: null },
)

/** The pure parts of a step at several sizes of the surface: linear, so the time per node stays. */
export async function benchSurface(short: boolean): Promise<string[]> {
  const rows: (string | number)[][] = []
  const first = new Map<string, number>()
  for (const size of SIZES) {
    const nodes = surface(size)
    const bench = new Bench({ time: short ? 100 : 500 })
    bench.add('derive messages', () => void deriveMessages(nodes))
    bench.add('select span', () => void selectSpan({ nodes, cause: 'pressure', policy: POLICY, ratio: 1.2 }))
    bench.add('plan prune', () => void planPrune(nodes, POLICY, { unseen: false }))
    await bench.run()
    for (const { name, result } of bench.tasks) {
      const median = 'latency' in result ? result.latency.p50 : Number.NaN
      const perNode = (1000 * median) / size
      const base = first.get(name) ?? perNode
      first.set(name, base)
      rows.push([name, formatCount(size), median.toFixed(3), perNode.toFixed(2), (perNode / base).toFixed(2)])
    }
  }
  console.log('\nPure parts of a step, median\n')
  console.log(formatTable(['what', 'nodes', 'ms', 'µs/node', 'to first'], rows))
  return []
}

/** Turns of one prompt, three replies with a call each, their results. */
function surface(size: number): SurfaceNode[] {
  return Array.from({ length: size }, (_, seq): SurfaceNode => {
    const base = { seq, time: 0, key: `k${seq}`, turn: 1, step: 1, tokens: 60, surfaceOp: 'append' as const }
    const text = [{ type: 'text', text: `Message ${seq}: ${'some words '.repeat(20)}` }]
    const place = seq % 7
    if (place === 0) return { ...base, type: 'user/message', data: { content: text, source: 'prompt' } }
    if (place % 2 === 0)
      return {
        ...base,
        type: 'tool/result',
        data: { callId: `c${seq - 1}`, name: 'read_file', content: text, isError: false },
      }
    const call = { type: 'tool_use', id: `c${seq}`, name: 'read_file', input: { path: `src/file-${seq}.ts` } }
    const data = {
      content: [...text, call],
      usage: null,
      stopReason: 'tool_use',
      provider: 'bench',
      model: 'bench',
    }
    return { ...base, type: 'assistant/message', data }
  })
}
