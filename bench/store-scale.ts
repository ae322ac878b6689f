import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatCount, formatTable } from '../src/cli/table.ts'
import { resolvePolicy } from '../src/shared/compaction/policy.ts'
import { selectSpan } from '../src/shared/compaction/span.ts'
import type { SessionStore } from '../src/shared/ports/store.ts'
import type { Header, NewEvent } from '../src/shared/session/events.ts'
import { sqliteStore } from '../src/store/index.ts'

const SIZES = [1_000, 4_000, 16_000, 64_000] as const
const SHORT_SIZES = [1_000, 4_000, 16_000] as const
/** Events of one transaction. Each ends with a flush to the disk, whose time says more of the disk than of the log; an import writes many. */
const BATCH = 512
/** As an activity writes them. */
const HANDFUL = 4
const HANDFULS = 100
const BOUND = { events: 16_000, ms: 1_000 }

const ACTOR = { workflowId: 'bench', runId: 'bench' }

/** Time to append, measure and select at several lengths of the log. Returns what is above its bound. */
export async function benchStoreScale(short: boolean): Promise<string[]> {
  const problems: string[] = []
  const rows: (string | number)[][] = []
  let firstMs: number | undefined
  await measure(SIZES[0]) // Code that runs for the first time says nothing of scale.
  for (const events of short ? SHORT_SIZES : SIZES) {
    const before = cpuMs()
    const { appendMs, measureMs, selectMs } = await measure(events)
    const workedMs = cpuMs() - before
    const perEvent = (appendMs + measureMs + selectMs) / events
    firstMs ??= perEvent
    rows.push([
      formatCount(events),
      Math.round(appendMs),
      measureMs.toFixed(1),
      selectMs.toFixed(1),
      Math.round(workedMs),
      (1000 * perEvent).toFixed(1),
      (perEvent / firstMs).toFixed(2),
    ])
    // Of the processor: what other processes and a slow disk do not stretch.
    if (events === BOUND.events && workedMs > BOUND.ms)
      problems.push(
        `append, measure and select of ${formatCount(events)} events took ${Math.round(workedMs)} ms, allowed are ${BOUND.ms}`,
      )
  }
  console.log(`\nLog: append (durable, ${BATCH} events a transaction), measure, select\n`)
  console.log(
    formatTable(
      ['events', 'append ms', 'measure ms', 'select ms', 'processor ms', 'µs/event', 'to first'],
      rows,
    ),
  )
  console.log(`\nA durable append of ${HANDFUL} events: ${(await handfulMs()).toFixed(2)} ms`)
  return problems
}

async function handfulMs(): Promise<number> {
  return withStore((store) => timed(() => appendAll(store, HANDFUL * HANDFULS, HANDFUL))).then(
    (ms) => ms / HANDFULS,
  )
}

async function measure(count: number): Promise<{ appendMs: number; measureMs: number; selectMs: number }> {
  return withStore(async (store) => {
    const appendMs = await timed(() => appendAll(store, count))
    const measureMs = await timed(() => store.measure('bench'))
    const { nodes } = await store.surface('bench')
    const selectMs = await timed(async () =>
      selectSpan({ nodes, cause: 'pressure', policy: HEADER.policy, ratio: 1.2 }),
    )
    return { appendMs, measureMs, selectMs }
  })
}

async function withStore<T>(work: (store: SessionStore) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'dc-bench-'))
  const store = sqliteStore({ path: join(folder, 'sessions.db') })
  try {
    await store.createSession({ sessionId: 'bench', actor: ACTOR, lifeRunId: 'bench', header: HEADER })
    return await work(store)
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function appendAll(store: SessionStore, count: number, batch = BATCH): Promise<void> {
  for (let at = 0; at < count; at += batch) {
    const events = Array.from({ length: Math.min(batch, count - at) }, (_, index) => message(at + index))
    await store.append({ sessionId: 'bench', actor: ACTOR, turn: null, events })
  }
}

const message = (index: number): NewEvent => ({
  key: `notice.${index}`,
  type: 'user/message',
  turn: null,
  step: null,
  data: { content: [{ type: 'text', text: `Message ${index} of a long session.` }], source: 'import' },
  tokens: 12,
  surfaceOp: 'append',
})

const HEADER: Header = {
  provider: 'bench',
  model: 'bench',
  system: '',
  tools: [],
  sampling: {},
  policy: resolvePolicy(
    {},
    { provider: 'bench', model: 'bench', contextWindow: 200_000, maxOutputTokens: null },
  ),
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
