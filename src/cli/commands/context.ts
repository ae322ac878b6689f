import { isCompactCheckpointSource } from '../../shared/checkpoint-source.ts'
import { isSpent, spendingOf } from '../../shared/compaction/compaction-budget.ts'
import { ratioOf } from '../../shared/compaction/meter.ts'
import { planMicro } from '../../shared/compaction/micro.ts'
import type { ResolvedPolicy } from '../../shared/compaction/policy-schema.ts'
import { modelKeyOf, takeReading } from '../../shared/compaction/pressure.ts'
import { cheaperCopies, type PruneOptions, planPrune } from '../../shared/compaction/prune.ts'
import { readPlanState } from '../../shared/compaction/read-plan-state.ts'
import { reasonText } from '../../shared/compaction/reason-text.ts'
import { type SelectedSpan, selectSpan } from '../../shared/compaction/span.ts'
import type { Reading } from '../../shared/protocol.ts'
import type { CompactionCause, SurfaceNode } from '../../shared/session/events.ts'
import { countTokens } from '../../shared/tokens/counter.ts'
import { priceContent, priceText, priceTools } from '../../shared/tokens/price.ts'
import type { Run } from '../action.ts'
import { formatCount, formatTable } from '../table.ts'

interface Context {
  /** Tokens by our counter. */
  readonly parts: Readonly<Record<string, number>>
  readonly reading: Reading
  /** The provider's tokens for one of ours, as its usage has taught. */
  readonly ratio: number
  readonly contextWindow: number | null
  /** What a compaction would take once the limit is reached, and one that a person asks for now. */
  readonly next: SelectedSpan
  readonly byHand: SelectedSpan
  /** Results that would be cleared or shortened first under pressure. */
  readonly shortens: number
}

export const context: Run<object> = async (setting, [id = '']) => {
  const { store, row } = await setting.stored(id)
  const { header, surface, meter, replies, pinTokens } = await readPlanState(store, row, countTokens)
  const paid = await store.attemptUsage(id)
  const fixed = { system: priceText(header.system), tools: priceTools(header.tools) }
  const overheadTokens = fixed.system + fixed.tools
  const ratio = ratioOf(meter, modelKeyOf(header))
  const { policy } = header
  const { nodes } = surface
  const spanOf = (cause: CompactionCause): SelectedSpan =>
    selectSpan({ nodes, cause, policy, turn: row.openTurn, ratio, overheadTokens, pinTokens })
  const found: Context = {
    parts: { ...fixed, ...byKind(surface.nodes) },
    reading: takeReading({
      snapshot: surface,
      header,
      overheadTokens,
      meter,
      budgetSpent: isSpent(policy, spendingOf(paid.map(({ usage }) => usage))),
      step: replies,
      nowMs: Date.now(),
    }),
    ratio,
    contextWindow: policy.contextWindow,
    next: spanOf('pressure'),
    byHand: spanOf('manual'),
    shortens: shortened(nodes, policy, { unseen: false, ratio, overheadTokens }),
  }
  setting.output.result({ sessionId: id, ...found }, describeContext(found))
}

function byKind(nodes: readonly SurfaceNode[]) {
  const parts = { checkpoint: 0, user: 0, assistant: 0, results: 0, images: 0 }
  for (const node of nodes) {
    const images = Math.min(node.tokens, imageTokens(node))
    parts.images += images
    parts[kindOf(node)] += node.tokens - images
  }
  return parts
}

function kindOf(node: SurfaceNode): 'checkpoint' | 'user' | 'assistant' | 'results' {
  if (node.type === 'assistant/message') return 'assistant'
  if (node.type === 'tool/result') return 'results'
  return isCompactCheckpointSource(node.data.source) ? 'checkpoint' : 'user'
}

/** Pictures and documents, without the message around them. */
const imageTokens = ({ data }: SurfaceNode): number =>
  priceContent(data.content.filter(({ type }) => type === 'image' || type === 'document')) - priceContent([])

function shortened(nodes: readonly SurfaceNode[], policy: ResolvedPolicy, options: PruneOptions): number {
  const copies = [...planMicro(nodes, policy), ...planPrune(nodes, policy, options)]
  return new Set(cheaperCopies(copies, priceContent).map(({ copy }) => copy.target.seq)).size
}

function describeContext({ parts, reading, ratio, contextWindow, next, byHand, shortens }: Context): string {
  const total = Object.values(parts).reduce((sum, tokens) => sum + tokens, 0)
  const row = (part: string, tokens: number) => [
    part,
    formatCount(tokens),
    `${total === 0 ? 0 : Math.round((100 * tokens) / total)} %`,
  ]
  const rows = [...Object.entries(parts), ['all', total] as const].map(([part, tokens]) => row(part, tokens))
  const window = contextWindow === null ? '' : ` of ${formatCount(contextWindow)}`
  const limit = reading.limit === null ? 'compaction is off' : `compacts at ${formatCount(reading.limit)}`
  return [
    formatTable(['part', 'tokens', 'share'], rows),
    '',
    `next request     about ${formatCount(reading.tokens)}${window} tokens (our count × ${ratio.toFixed(2)}, learned from the provider's usage)`,
    `pressure         ${reading.pressure}; ${limit}`,
    `next compaction  ${describeNext(next)}${shortens === 0 ? '' : `; before it ${shortens} results are shortened`}`,
    `one by hand now  ${describeNext(byHand)}`,
  ].join('\n')
}

const describeNext = (next: SelectedSpan): string =>
  next.kind === 'span'
    ? `${next.seqs.length} messages, #${next.from} to #${next.to}, ${formatCount(next.tokens)} tokens`
    : `would take nothing: ${reasonText(next.reason)}`
