import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Measured, Task } from './counter/child.ts'
import { COUNTER_NAMES, type CounterName } from './counter/counters.ts'
import { TEXTS, UNBROKEN_KINDS } from './counter/texts.ts'

/** The goal: a million characters without a place to cut, of any kind. */
const GOAL_CHARS = 1_000_000
const GOAL_SECONDS = 2
/** The others take time with the square of the length, js-tiktoken a hundred times more than the rest: they get less. */
const OTHERS_CHARS = { 'js-tiktoken': 1_000, 'gpt-tokenizer': 5_000, 'ai-tokenizer': 5_000 } as const
const CHILD = fileURLToPath(new URL('./counter/child.ts', import.meta.url))
const CHILD_TIMEOUT_MS = 180_000

export interface CounterBench {
  /** The report, ready to be printed. */
  readonly lines: readonly string[]
  /** Missed goals, and counts that are not the same; empty when all is well. */
  readonly problems: readonly string[]
}

/**
 * Our counter against js-tiktoken, gpt-tokenizer and ai-tokenizer: cold and warm on ordinary texts, and on a million
 * unbroken characters. Each measurement has a process of its own, the counters take turns, all ratios are of one run.
 *
 * @param short - one text, one round and two kinds of unbroken text: seconds instead of minutes
 */
export async function benchCounter(short: boolean): Promise<CounterBench> {
  const texts = short ? ['source'] : Object.keys(TEXTS)
  const kinds = short ? ['letter a', 'U+200B'] : UNBROKEN_KINDS
  const contents = texts.map((name) => [name, TEXTS[name]?.(short ? 50_000 : 100_000) ?? ''] as const)
  const runs = new Map<string, Measured[]>()
  for (let round = 0; round < (short ? 1 : 3); round++) {
    for (const [name, content] of contents) {
      for (const counter of COUNTER_NAMES) {
        const measured = await run({ counter, text: { content, warmMs: short ? 300 : 500 } })
        runs.set(key(counter, name), [...(runs.get(key(counter, name)) ?? []), measured])
      }
    }
  }
  const cells = new Map([...runs].map(([cell, measured]) => [cell, summary(measured)]))
  const unbroken = new Map<CounterName, Measured>()
  for (const counter of COUNTER_NAMES) unbroken.set(counter, await run(unbrokenTask(counter, kinds)))
  return {
    lines: [...textLines(texts, cells), '', ...unbrokenLines(kinds, unbroken)],
    problems: [...countProblems(texts, cells), ...goalProblems(unbroken)],
  }
}

const key = (counter: CounterName, text: string): string => `${counter} ${text}`

async function run(task: Task): Promise<Measured> {
  const args = ['--expose-gc', '--import', import.meta.resolve('tsx'), CHILD]
  const running = promisify(execFile)(process.execPath, args, { timeout: CHILD_TIMEOUT_MS })
  running.child.stdin?.end(JSON.stringify(task))
  const { stdout } = await running
  return JSON.parse(stdout) as Measured
}

/** We count each kind at the goal, and at the lengths that the others get. */
function unbrokenTask(counter: CounterName, kinds: readonly string[]): Task {
  const lengths =
    counter === 'ours' ? [...new Set(Object.values(OTHERS_CHARS)), GOAL_CHARS] : [OTHERS_CHARS[counter]]
  return { counter, unbroken: kinds.flatMap((name) => lengths.map((chars) => ({ name, chars }))) }
}

interface Cell {
  readonly loadMs: number
  readonly coldMs: number
  readonly warmMs: number
  readonly memoryMb: number
  readonly tokens: number
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

function summary(runs: readonly Measured[]): Cell {
  const of = (value: (run: Measured) => number): number => median(runs.map(value))
  return {
    loadMs: of(({ loadMs }) => loadMs),
    coldMs: of(({ loadMs, text }) => loadMs + (text?.firstMs ?? Number.NaN)),
    warmMs: of(({ text }) => text?.warmMs ?? Number.NaN),
    memoryMb: of(({ memoryMb }) => memoryMb),
    tokens: runs[0]?.text?.tokens ?? Number.NaN,
  }
}

type Cells = ReadonlyMap<string, Cell>

function textLines(texts: readonly string[], cells: Cells): string[] {
  const row = (counter: CounterName, value: (cell: Cell) => number): string => {
    const shown = texts.map((text) => {
      const [cell, ours] = [cells.get(key(counter, text)), cells.get(key('ours', text))]
      if (cell === undefined || ours === undefined) return ''
      return compared(value(cell), counter === 'ours' ? undefined : value(ours))
    })
    return line(counter, shown)
  }
  const all = (counter: CounterName): Cell[] => texts.flatMap((text) => cells.get(key(counter, text)) ?? [])
  return [
    `Counting o200k_base tokens. Node ${process.version}; milliseconds, and times as long as ours.`,
    '',
    line('', ['load', 'memory']),
    ...COUNTER_NAMES.map((counter) =>
      line(counter, [
        compared(median(all(counter).map(({ loadMs }) => loadMs))),
        `${median(all(counter).map(({ memoryMb }) => memoryMb)).toFixed(0)} MB`,
      ]),
    ),
    '',
    line('cold: load, first count', texts),
    ...COUNTER_NAMES.map((counter) => row(counter, ({ coldMs }) => coldMs)),
    '',
    line('warm: the same again', texts),
    ...COUNTER_NAMES.map((counter) => row(counter, ({ warmMs }) => warmMs)),
    line(
      'tokens',
      texts.map((text) => String(cells.get(key('ours', text))?.tokens)),
    ),
  ]
}

function unbrokenLines(kinds: readonly string[], unbroken: ReadonlyMap<CounterName, Measured>): string[] {
  const msOf = (counter: CounterName, kind: string, chars: number): number =>
    unbroken.get(counter)?.unbroken.find(({ name, chars: length }) => name === kind && length === chars)
      ?.ms ?? Number.NaN
  const others = Object.entries(OTHERS_CHARS) as [keyof typeof OTHERS_CHARS, number][]
  return [
    'One unbroken piece. The others take quadratic time and get a shorter one; the ratio is to ours at that length.',
    line('', [`ours, ${GOAL_CHARS}`, ...others.map(([counter, chars]) => `${counter}, ${chars}`)]),
    ...kinds.map((kind) =>
      line(kind, [
        compared(msOf('ours', kind, GOAL_CHARS)),
        ...others.map(([counter, chars]) => compared(msOf(counter, kind, chars), msOf('ours', kind, chars))),
      ]),
    ),
  ]
}

const line = (name: string, cells: readonly string[]): string =>
  name.padEnd(24) + cells.map((cell) => cell.padStart(22)).join('')

function compared(ms: number, ours?: number): string {
  const shown = ms < 10 ? ms.toFixed(1) : ms.toFixed(0)
  return ours === undefined ? `${shown} ms` : `${shown} ms ${(ms / ours).toFixed(1).padStart(6)}×`
}

function countProblems(texts: readonly string[], cells: Cells): string[] {
  return texts.flatMap((text) => {
    const counts = COUNTER_NAMES.map((counter) => `${counter} ${cells.get(key(counter, text))?.tokens}`)
    const different = new Set(COUNTER_NAMES.map((counter) => cells.get(key(counter, text))?.tokens))
    return different.size === 1 ? [] : [`counts of ${text} differ: ${counts.join(', ')}`]
  })
}

/** Processor time, since this may share the machine. */
function goalProblems(unbroken: ReadonlyMap<CounterName, Measured>): string[] {
  const slow = (unbroken.get('ours')?.unbroken ?? []).filter(({ cpuMs }) => cpuMs > GOAL_SECONDS * 1000)
  return slow.map(
    ({ name, chars, cpuMs }) =>
      `${chars} × ${name} took ${(cpuMs / 1000).toFixed(1)} s, the goal is ${GOAL_SECONDS} s`,
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { lines, problems } = await benchCounter(process.argv.includes('--short'))
  console.log(lines.join('\n'))
  for (const problem of problems) console.error(`problem: ${problem}`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
