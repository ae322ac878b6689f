import type { CheckpointState } from './checkpoint-state.ts'
import { mergeDone } from './ledger/done-calls.ts'
import type { LedgerState } from './ledger/state.ts'

/** The state of one checkpoint and its position among the messages of the new span. */
export interface PlacedState {
  readonly position: number
  readonly state: CheckpointState
}

/** One ledger state for all checkpoints of a span, oldest first, as if they had been one in front of it. Undefined when there are none. */
export function mergeStates(placed: readonly PlacedState[]): LedgerState | undefined {
  const [first, ...others] = placed.map(({ position, state }) => inFront(state, position))
  return first === undefined ? undefined : others.reduce(mergeTwo, first)
}

/** Ages count from the checkpoint; from the start of the span they are shorter by its position. */
const inFront = (state: LedgerState, position: number): LedgerState => ({
  ...state,
  items: state.items.map((item) => ({ ...item, last: item.last - position })),
  errors: state.errors.map((error) => ({ ...error, last: error.last - position })),
})

function mergeTwo(earlier: LedgerState, later: LedgerState): LedgerState {
  const summaries = [earlier.earlierSummary, later.earlierSummary].filter((summary) => summary !== undefined)
  const plan = later.plan ?? earlier.plan
  const done = mergeDone(earlier.done ?? [], later.done ?? [])
  return {
    v: 1,
    items: mergeItems(earlier.items, later.items),
    said: mergeSaid(earlier.said, later.said),
    ...(plan === undefined ? {} : { plan }),
    errors: [...new Map([...earlier.errors, ...later.errors].map((error) => [error.key, error])).values()],
    ...(done.length === 0 ? {} : { done }),
    assistantTexts: [...earlier.assistantTexts, ...later.assistantTexts],
    ...(summaries.length === 0 ? {} : { earlierSummary: summaries.join('\n\n') }),
  }
}

type Items = LedgerState['items']

function mergeItems(earlier: Items, later: Items): Items {
  const merged = new Map(earlier.map((item) => [`${item.kind} ${item.value}`, item]))
  for (const item of later) {
    const key = `${item.kind} ${item.value}`
    const known = merged.get(key)
    merged.set(key, known === undefined ? item : mergeItem(known, item))
  }
  return [...merged.values()]
}

function mergeItem(earlier: Items[number], later: Items[number]): Items[number] {
  const sum = (a: number | undefined, b: number | undefined) =>
    a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0)
  const edits = sum(earlier.edits, later.edits)
  const runs = sum(earlier.runs, later.runs)
  return {
    ...earlier,
    ...later,
    n: earlier.n + later.n,
    last: Math.min(earlier.last, later.last),
    ...(edits === undefined ? {} : { edits }),
    ...(runs === undefined ? {} : { runs }),
  }
}

/** One gap at most: what was left out before the later words counts into the first gap. */
function mergeSaid(earlier: LedgerState['said'], later: LedgerState['said']): LedgerState['said'] {
  if (earlier.leftOut === 0) {
    return {
      start: [...earlier.start, ...earlier.newest, ...later.start],
      newest: later.newest,
      leftOut: later.leftOut,
    }
  }
  return {
    start: earlier.start,
    newest: [...earlier.newest, ...later.start, ...later.newest],
    leftOut: earlier.leftOut + later.leftOut,
  }
}
