import { budgetWithoutSummary } from '../../src/shared/compaction/ledger/budget.ts'
import { buildLedger } from '../../src/shared/compaction/ledger/build-ledger.ts'
import { joinSections } from '../../src/shared/compaction/ledger/checkpoint-body.ts'
import type { LedgerState } from '../../src/shared/compaction/ledger/state.ts'
import type { LedgerBudget, LedgerMessage } from '../../src/shared/compaction/ledger/types.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'
import { BASELINES, baselines } from './baselines.ts'
import { type Cut, makeCut } from './cuts.ts'
import { budgetWithin, listsOnly } from './measured-budget.ts'
import { textOf } from './own-recogniser.ts'
import { recall } from './presence.ts'
import { type Session, sum } from './sessions.ts'

/** Recall by row name and budget; the rows of the printed table. */
export type Recalls = Map<string, number>

export const LISTS = 'ledger, lists only'
export const WHOLE = 'ledger, whole checkpoint'
export const UNAIDED = 'its unaided recall'

const memory = new Map<string, number>()
/** Lists of one cut repeat each other's lines and words. */
const count = (text: string): number => {
  if (text.length > 400) return countTokens(text)
  const known = memory.get(text) ?? countTokens(text)
  memory.set(text, known)
  return known
}

const ledgerOf = ({ span, tail, root, previous }: Cut, budget: LedgerBudget) =>
  buildLedger({ span, tail, budget, count, workingDirectory: root, previous })

export function measureCut(cut: Cut, budgets: readonly number[]): Recalls {
  const recalls: Recalls = new Map()
  const plain = baselines(cut)
  for (const budget of budgets) {
    const whole = joinSections(ledgerOf(cut, budgetWithin(budget, cut.spanTokens)))
    for (const name of BASELINES)
      recalls.set(`${name} ${budget}`, recall(cut.wanted, plain[name](budget), cut.root))
    recalls.set(`${LISTS} ${budget}`, recall(cut.wanted, ledgerOf(cut, listsOnly(budget)).lists, cut.root))
    recalls.set(`${WHOLE} ${budget}`, recall(cut.wanted, whole, cut.root))
    recalls.set(`${UNAIDED} ${budget}`, recall(cut.unaided, whole, cut.root))
  }
  return recalls
}

export interface RealRow {
  readonly cut: Cut
  readonly summaryTokens: number
  readonly summary: number
  readonly summaryUnaided: number
  readonly ours: number
  readonly oursUnaided: number
  readonly oursTokens: number
}

/** The checkpoint that an agent wrote, and ours without a model, with the default sizes. */
export function measureReal(cut: Cut): RealRow {
  const { summary = '', spanTokens, wanted, unaided, root } = cut
  const budget = budgetWithoutSummary({ checkpointTokens: 5_000, userTextTokens: 8_000, spanTokens })
  const ours = joinSections(ledgerOf(cut, budget))
  return {
    cut,
    summaryTokens: countTokens(summary),
    summary: recall(wanted, summary, root),
    summaryUnaided: recall(unaided, summary, root),
    ours: recall(wanted, ours, root),
    oursUnaided: recall(unaided, ours, root),
    oursTokens: countTokens(ours),
  }
}

const ROUNDS = 8
const ROUNDS_SHARE = ROUNDS / (ROUNDS + 1)

export interface RoundsRow {
  readonly session: string
  readonly wanted: number
  /** Each round starts from the carried state. */
  readonly carried: number
  /** One ledger over everything. */
  readonly atOnce: number
  /** Each round sees only its own span. */
  readonly forgotten: number
}

/** A session in nine parts: eight compactions in a row, and what the agent used in the ninth part. */
export function measureRounds(session: Session, budget: LedgerBudget): RoundsRow {
  const end = positionOf(session, ROUNDS_SHARE)
  const cut = makeCut(session, { from: 0, spanEnd: end, tailEnd: end })
  let previous: LedgerState | undefined
  let page = ''
  for (let round = 0; round < ROUNDS; round++) {
    const from = positionOf(session, (ROUNDS_SHARE * round) / ROUNDS)
    const to = round === ROUNDS - 1 ? end : positionOf(session, (ROUNDS_SHARE * (round + 1)) / ROUNDS)
    const span = session.messages.slice(from, to)
    const ledger = ledgerOf({ ...cut, span, previous }, budget)
    previous = ledger.state
    page = joinSections(ledger)
  }
  const last = session.messages.slice(positionOf(session, (ROUNDS_SHARE * (ROUNDS - 1)) / ROUNDS), end)
  const recallOf = (text: string) => recall(cut.wanted, text, cut.root)
  return {
    session: session.name,
    wanted: cut.wanted.size,
    carried: recallOf(page),
    atOnce: recallOf(joinSections(ledgerOf(cut, budget))),
    forgotten: recallOf(joinSections(ledgerOf({ ...cut, span: last }, budget))),
  }
}

function positionOf({ tokens }: Session, share: number): number {
  let left = sum(tokens) * share
  return tokens.findIndex((size) => {
    left -= size
    return left < 0
  })
}

/** Processor milliseconds for a ledger of about one million characters, the median of five runs, and the number of characters. */
export function measureSpeed(sessions: readonly Session[]): { ms: number; characters: number } {
  const span: LedgerMessage[] = []
  let characters = 0
  for (const message of sessions.flatMap(({ messages }) => messages)) {
    if (characters >= 1_000_000) break
    span.push(message)
    characters += textOf([message]).length
  }
  const run = (): number => {
    const start = process.cpuUsage()
    buildLedger({ span, tail: [], budget: budgetWithin(5_000, 100_000), count: countTokens })
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1_000
  }
  for (let warmUp = 0; warmUp < 3; warmUp++) run()
  const times = Array.from({ length: 5 }, run).sort((a, b) => a - b)
  return { ms: times[2] ?? 0, characters }
}
