/**
 * How much of what an agent uses later stands in a checkpoint that code wrote. `node --import tsx bench/ledger/recall.ts
 * [--short]`. Ends with 1 when a goal is missed. `README.md` beside it tells the method.
 */
import type { LedgerBudget } from '../../src/shared/compaction/ledger/types.ts'
import { BASELINES } from './baselines.ts'
import { type Cut, realCuts, syntheticCuts, WANTED_MIN } from './cuts.ts'
import {
  LISTS,
  measureCut,
  measureReal,
  measureRounds,
  measureSpeed,
  type RealRow,
  type Recalls,
  type RoundsRow,
  UNAIDED,
  WHOLE,
} from './measure.ts'
import { budgetWithin, listsOnly } from './measured-budget.ts'
import { CORPUS, loadSessions, type Session, sum } from './sessions.ts'
import { type Goal, printGoals, printTable } from './table.ts'

const LONG_TOKENS = 60_000
const SHORT_TOKENS = 10_000

const short = process.argv.includes('--short')
const budgets = short ? [2_000, 5_000] : [1_000, 2_000, 3_500, 5_000]

const ROUND_BUDGETS: [string, LedgerBudget][] = [
  ['lists of 1,500 tokens', listsOnly(1_500)],
  ['lists of 2,500 tokens', listsOnly(2_500)],
  ['whole checkpoint of 5,000 tokens', budgetWithin(5_000, 0)],
]

const sessions = loadSessions()
if (sessions) process.exitCode = run(sessions) ? 0 : 1
else console.log(`bench/ledger: no recorded sessions at ${CORPUS.pathname}, nothing measured`)

function run(all: readonly Session[]): boolean {
  const real = all.flatMap(realCuts)
  const long = [...real, ...all.flatMap((session) => syntheticCuts(session, LONG_TOKENS))]
  const mean = printRecalls(`Spans of ${LONG_TOKENS} tokens and more`, long)
  if (!short) {
    const shorter = all.flatMap((session) => syntheticCuts(session, SHORT_TOKENS, LONG_TOKENS))
    printRecalls(`Spans of ${SHORT_TOKENS} to ${LONG_TOKENS} tokens`, shorter)
  }
  const rows = real.map(measureReal)
  printReal(rows)
  const longSessions = all.filter(({ tokens }) => sum(tokens) > LONG_TOKENS * 1.2)
  const carried = printRounds(longSessions)
  const { ms, characters } = measureSpeed(all)
  console.log(
    `\nSpeed: ${ms.toFixed(0)} ms of processor time for ${characters.toLocaleString('en')} characters\n`,
  )
  const goals: Goal[] = [
    { name: 'whole checkpoint at 2,000 tokens', value: mean.get(`${WHOLE} 2000`) ?? 0, atLeast: 0.84 },
    { name: 'whole checkpoint at 5,000 tokens', value: mean.get(`${WHOLE} 5000`) ?? 0, atLeast: 0.95 },
    { name: 'after 8 compactions in a row, 5,000 tokens', value: carried, atLeast: 0.9 },
    { name: 'milliseconds for 1 MB', value: ms, atMost: 300 },
  ]
  return printGoals(goals)
}

/** Prints the mean over sessions, and returns it. */
function printRecalls(title: string, cuts: readonly Cut[]): Recalls {
  const bySession = new Map<string, Recalls[]>()
  for (const cut of cuts) {
    const measured = bySession.get(cut.session) ?? []
    bySession.set(cut.session, [...measured, measureCut(cut, budgets)])
  }
  const perSession = [...bySession].map(([session, recalls]) => ({
    session,
    cuts: recalls.length,
    mean: meanOf(recalls),
  }))
  const mean = meanOf(perSession.map((each) => each.mean))
  printTable(
    `${title}: ${cuts.length} cuts in ${perSession.length} sessions, mean over sessions`,
    ['', ...budgets.map(String)],
    [...BASELINES, LISTS, WHOLE, UNAIDED].map((row) => [
      row,
      ...budgets.map((budget) => mean.get(`${row} ${budget}`) ?? 0),
    ]),
  )
  const best = (budget: number) => Math.max(...BASELINES.map((row) => mean.get(`${row} ${budget}`) ?? 0))
  const ratios = budgets.map((budget) => (mean.get(`${LISTS} ${budget}`) ?? 0) / best(budget))
  console.log(`lists ÷ best baseline: ${ratios.map((ratio) => ratio.toFixed(2)).join('  ')}`)
  printTable(
    'By session, whole checkpoint',
    ['', 'cuts', ...budgets.map(String)],
    perSession.map((each) => [
      each.session,
      String(each.cuts),
      ...budgets.map((budget) => each.mean.get(`${WHOLE} ${budget}`) ?? 0),
    ]),
  )
  return mean
}

function meanOf(recalls: readonly Recalls[]): Recalls {
  const keys = [...(recalls[0]?.keys() ?? [])]
  return new Map(keys.map((key) => [key, sum(recalls.map((each) => each.get(key) ?? 0)) / recalls.length]))
}

function printReal(rows: readonly RealRow[]): void {
  printTable(
    'Where the real agents compacted: their summary, and our checkpoint without a model',
    ['', 'span', 'wanted', 'tokens', 'recall', 'unaided', 'our tokens', 'recall', 'unaided'],
    rows.map((row) => [
      row.cut.session,
      String(row.cut.spanTokens),
      String(row.cut.wanted.size),
      String(row.summaryTokens),
      row.summary,
      row.summaryUnaided,
      String(row.oursTokens),
      row.ours,
      row.oursUnaided,
    ]),
  )
  const ratio = sum(rows.map((row) => row.ours)) / sum(rows.map((row) => row.summary))
  console.log(`ours ÷ theirs: ${ratio.toFixed(2)}`)
}

/** Returns the mean of the carried recall for the last budget. */
function printRounds(all: readonly Session[]): number {
  let mean = 0
  for (const [name, budget] of ROUND_BUDGETS) {
    const rows = all
      .map((session) => measureRounds(session, budget))
      .filter(({ wanted }) => wanted >= WANTED_MIN)
    const meanOfRows = (value: (row: RoundsRow) => number) => sum(rows.map(value)) / rows.length
    mean = meanOfRows(({ carried }) => carried)
    const atOnce = meanOfRows((row) => row.atOnce)
    printTable(
      `8 compactions in a row, ${name}`,
      ['', 'wanted', 'carried', 'at once', 'nothing carried'],
      [
        ...rows.map((row) => [row.session, String(row.wanted), row.carried, row.atOnce, row.forgotten]),
        ['mean', '', mean, atOnce, meanOfRows((row) => row.forgotten)],
      ],
    )
    console.log(`carried ÷ at once: ${(mean / atOnce).toFixed(2)}`)
  }
  return mean
}
