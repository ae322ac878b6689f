import { existsSync } from 'node:fs'
import { planReplay, type ReplayPlan } from '../../formats/replay-plan.ts'
import type { ReadReport } from '../../formats/transcript.ts'
import { resolvePolicy } from '../../shared/compaction/policy.ts'
import { PRESETS, type PresetName } from '../../shared/compaction/presets.ts'
import { reasonText } from '../../shared/compaction/reason-text.ts'
import type { Header } from '../../shared/session/events.ts'
import { sessionTools } from '../../shared/session-tools.ts'
import { costUsd, type PriceTable, priceOf } from '../../shared/usage/prices.ts'
import type { Run } from '../action.ts'
import { UsageError } from '../exit-codes.ts'
import { readJsonFile } from '../json-file.ts'
import { formatUsd, pricesFrom } from '../prices.ts'
import { readLog } from '../read-log.ts'
import { REPLAY_MODEL } from '../replay/replay-window.ts'
import type { Setting } from '../setting.ts'
import { planOfLog } from '../simulate/plan-of-log.ts'
import { type Simulation, simulate } from '../simulate/simulate.ts'
import { formatCount, formatTable } from '../table.ts'
import { readTranscriptFile } from '../transcript-file.ts'

export interface SimulateOptions {
  readonly policy?: readonly string[]
  readonly model: string
  readonly window: number
  readonly prices?: string
}

interface Simulated extends Simulation {
  readonly policy: string
  /** Null: the price table does not know the model. */
  readonly usd: number | null
}

export const runSimulate: Run<SimulateOptions> = async (setting, [source = ''], options) => {
  const prices = pricesFrom(options.prices)
  const policies = options.policy ?? ['default']
  const headers = policies.map((policy) => policyHeader(policy, options))
  const { plan, ...report } = await readSource(setting, source)
  const results = headers.map((header, index): Simulated => {
    setting.output.progress(`Simulating ${policies[index]} …`)
    const tools = [...toolsOf(plan), ...sessionTools(header.policy)]
    const simulation = simulate(plan, { ...header, system: plan.system, tools }, ratioFor(options.model))
    return { policy: policies[index] ?? '', ...simulation, usd: usdOf(prices, options.model, simulation) }
  })
  setting.output.result(
    { source, model: options.model, window: options.window, pricesOf: prices.date, results, ...report },
    describe(results, prices, options),
  )
}

interface Source {
  readonly plan: ReplayPlan
  /** What the reader did with a file. */
  readonly read?: ReadReport
}

/** A file if there is one, else a session of the store. */
async function readSource(setting: Setting, source: string): Promise<Source> {
  if (existsSync(source) || /[/\\.]/.test(source)) {
    const transcript = readTranscriptFile(source, setting.output)
    return { plan: planReplay(transcript), read: transcript.report }
  }
  const { store, row } = await setting.stored(source).catch((error: Error) => {
    throw new UsageError(
      `Cannot read ${source}: there is no such file, and no such session. ${error.message}`,
    )
  })
  return { plan: planOfLog(await readLog(store, source), row.header) }
}

function policyHeader(policy: string, { model: named, window }: SimulateOptions): Header {
  const slash = named.indexOf('/')
  if (slash <= 0 || slash === named.length - 1)
    throw new UsageError(`--model must be provider/model, got ${JSON.stringify(named)}.`)
  const [provider, model] = [named.slice(0, slash), named.slice(slash + 1)]
  const facts = { provider, model, contextWindow: window, maxOutputTokens: null }
  const resolved = Object.hasOwn(PRESETS, policy)
    ? resolvePolicy({}, facts, policy as PresetName)
    : resolvePolicy(readPolicy(policy), facts)
  return { provider, model, system: '', tools: [], sampling: {}, policy: resolved }
}

function readPolicy(path: string): Record<string, unknown> {
  if (!existsSync(path))
    throw new UsageError(
      `--policy must be a JSON file or one of ${Object.keys(PRESETS).join(', ')}; there is no file ${path}.`,
    )
  return readJsonFile(path)
}

const toolsOf = (plan: ReplayPlan): Header['tools'] =>
  plan.tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    inputSchema: tool.input_schema,
  }))

/** What `replay` plays counts as our counter does. */
const ratioFor = (model: string): { usageRatio?: number } => (model === REPLAY_MODEL ? { usageRatio: 1 } : {})

function usdOf(prices: PriceTable, model: string, { billedByPrompt }: Simulation): number | null {
  const price = priceOf(prices, model)
  if (price === undefined) return null
  return billedByPrompt.reduce((sum, usage) => sum + costUsd(price, usage, usage.promptAbove), 0)
}

const COLUMNS = [
  ...['policy', 'requests', 'compactions', 'cleared', 'largest', 'overflows'],
  ...['cache read', 'cache write', 'output', 'cost'],
]

function describe(
  results: readonly Simulated[],
  prices: PriceTable,
  { model, window }: SimulateOptions,
): string {
  const rows = results.map((result) => [
    result.policy,
    result.requests,
    result.compactions.filter((compaction) => compaction.outcome === 'compacted').length,
    result.cleared,
    formatCount(result.largestRequest),
    result.overflows,
    formatCount(result.billed.cacheReadTokens),
    formatCount(result.billed.cacheWriteTokens),
    formatCount(result.billed.outputTokens),
    result.usd === null ? '' : formatUsd(result.usd),
  ])
  const money =
    priceOf(prices, model) === undefined
      ? `The prices of ${prices.date} do not know ${model}, only ${Object.keys(prices.models).join(', ')}: give others with --prices.`
      : `Prices of ${prices.date}, with a prompt cache that always hits.`
  return [
    formatTable(COLUMNS, rows),
    '',
    ...results.map((result) => `${result.policy}:${firings(result)}`),
    '',
    `${model} with a window of ${formatCount(window)}. ${money}`,
  ].join('\n')
}

function firings({ compactions, cleared }: Simulation): string {
  if (compactions.length === 0)
    return cleared === 0
      ? ' never compacts'
      : ` writes no checkpoint: clearing ${formatCount(cleared)} old results keeps it below the threshold`
  return compactions
    .map(({ beforeReply, outcome, reason, tokensBefore, tokensAfter, messages }) => {
      const why = reason === undefined ? '' : `: ${reasonText(reason)}`
      const what = outcome === 'compacted' ? `${messages} messages` : `${outcome}${why}`
      return `\n  before reply ${beforeReply}: ${formatCount(tokensBefore)} → ${formatCount(tokensAfter)} tokens, ${what}`
    })
    .join('')
}
