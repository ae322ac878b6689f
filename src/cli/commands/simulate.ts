import type { Command } from 'commander'
import { planReplay, type ReplayPlan } from '../../formats/replay-plan.ts'
import { resolvePolicy } from '../../shared/compaction/policy.ts'
import { PRESETS, type PresetName } from '../../shared/compaction/presets.ts'
import type { Header } from '../../shared/session/events.ts'
import { UsageError } from '../exit-codes.ts'
import { readJsonFile } from '../json-file.ts'
import { costUsd, formatUsd, PRICES, type PriceTable, priceTableSchema } from '../prices.ts'
import { action, type Setting } from '../setting.ts'
import { type Simulation, simulate } from '../simulate/simulate.ts'
import { formatCount, formatTable } from '../table.ts'
import { readTranscriptFile } from '../transcript-file.ts'

interface SimulateOptions {
  readonly policy?: string[]
  readonly model: string
  readonly window: string
  readonly prices?: string
}

export function addSimulateCommand(program: Command): void {
  program
    .command('simulate <file>')
    .description('when policies would compact a recorded transcript, and what it costs; no key, no server')
    .option('--policy <file-or-preset...>', 'one or more policies to compare: JSON files or names of presets')
    .option('--model <provider/model>', 'whose prices and tokenizer', 'anthropic/claude-opus-4-8')
    .option('--window <tokens>', 'its context window', '200000')
    .option('--prices <file>', 'a price table of your own, JSON')
    .action(action<SimulateOptions>(runSimulate))
}

async function runSimulate(
  { output }: Setting,
  [file = '']: readonly string[],
  options: SimulateOptions,
): Promise<void> {
  const transcript = readTranscriptFile(file, output)
  const plan = planReplay(transcript)
  const prices = options.prices === undefined ? PRICES : priceTableSchema.parse(readJsonFile(options.prices))
  const results = (options.policy ?? ['default']).map((name) => {
    const simulation = simulate(plan, headerOf(plan, name, options))
    return { policy: name, ...simulation, usd: usdOf(prices, options.model, simulation) }
  })
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
    result.usd === null ? 'no price' : formatUsd(result.usd),
  ])
  const header = [
    'policy',
    'requests',
    'compactions',
    'cleared',
    'largest',
    'overflows',
    'cache read',
    'cache write',
    'output',
    'cost',
  ]
  const when = results.map((result) => `${result.policy}: ${firings(result)}`).join('\n')
  output.result(
    { file, model: options.model, pricesOf: prices.date, results, read: transcript.report },
    `${formatTable(header, rows)}\n\n${when}\n\nprices of ${prices.date}, ${options.model}, a prompt cache that always hits`,
  )
}

function firings({ compactions }: Simulation): string {
  if (compactions.length === 0) return 'never compacts'
  return compactions
    .map(({ beforeReply, outcome, reason, tokensBefore, tokensAfter, messages }) => {
      const what =
        outcome === 'compacted'
          ? `${messages} messages`
          : `${outcome}${reason === undefined ? '' : ` (${reason})`}`
      return `\n  before reply ${beforeReply}: ${formatCount(tokensBefore)} → ${formatCount(tokensAfter)} tokens, ${what}`
    })
    .join('')
}

function headerOf(plan: ReplayPlan, policy: string, options: SimulateOptions): Header {
  const slash = options.model.indexOf('/')
  if (slash <= 0)
    throw new UsageError(`--model must be provider/model, got ${JSON.stringify(options.model)}.`)
  const contextWindow = Number(options.window)
  if (!Number.isInteger(contextWindow) || contextWindow <= 0)
    throw new UsageError(`--window must be a number of tokens, got ${JSON.stringify(options.window)}.`)
  const [provider, model] = [options.model.slice(0, slash), options.model.slice(slash + 1)]
  const isPreset = Object.hasOwn(PRESETS, policy)
  const facts = { provider, model, contextWindow, maxOutputTokens: null }
  return {
    provider,
    model,
    system: plan.system,
    tools: plan.tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      inputSchema: tool.input_schema,
    })),
    sampling: {},
    policy: isPreset
      ? resolvePolicy({}, facts, policy as PresetName)
      : resolvePolicy(readJsonFile(policy), facts),
  }
}

function usdOf(prices: PriceTable, model: string, { billed }: Simulation): number | null {
  const price = prices.models[model]
  return price === undefined ? null : costUsd(price, billed)
}
