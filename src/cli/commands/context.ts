import { isCompactCheckpointSource } from '../../shared/checkpoint-source.ts'
import { initialMeter, meterStateSchema, ratioOf } from '../../shared/compaction/meter.ts'
import { modelKeyOf, takeReading } from '../../shared/compaction/pressure.ts'
import { type SelectedSpan, selectSpan } from '../../shared/compaction/span.ts'
import type { Reading } from '../../shared/protocol.ts'
import type { SurfaceNode } from '../../shared/session/events.ts'
import { priceText, priceTools } from '../../shared/tokens/price.ts'
import type { Run } from '../action.ts'
import { reasonText } from '../reasons.ts'
import { formatCount, formatTable } from '../table.ts'

interface Context {
  /** Tokens by our counter. */
  readonly parts: Readonly<Record<string, number>>
  readonly reading: Reading
  /** The provider's tokens for one of ours, as its usage has taught. */
  readonly ratio: number
  readonly contextWindow: number | null
  readonly next: SelectedSpan
}

export const context: Run<object> = async (setting, [id = '']) => {
  const { store, row } = await setting.stored(id)
  const { header } = row
  const [surface, stored, replies] = await Promise.all([
    store.surface(id),
    store.meter(id),
    store.countEvents(id, 'assistant/message'),
  ])
  const meter = stored === null ? initialMeter() : meterStateSchema.parse(stored)
  const fixed = { system: priceText(header.system), tools: priceTools(header.tools) }
  const overheadTokens = fixed.system + fixed.tools
  const ratio = ratioOf(meter, modelKeyOf(header))
  const { policy } = header
  const found: Context = {
    parts: { ...fixed, ...byKind(surface.nodes) },
    reading: takeReading({
      snapshot: surface,
      header,
      overheadTokens,
      meter,
      step: replies,
      nowMs: Date.now(),
    }),
    ratio,
    contextWindow: policy.contextWindow,
    next: selectSpan({ nodes: surface.nodes, cause: 'pressure', policy, ratio, overheadTokens }),
  }
  setting.output.result({ sessionId: id, ...found }, describeContext(found))
}

function byKind(nodes: readonly SurfaceNode[]) {
  const parts = { checkpoint: 0, user: 0, assistant: 0, results: 0 }
  for (const node of nodes) {
    if (node.type === 'assistant/message') parts.assistant += node.tokens
    else if (node.type === 'tool/result') parts.results += node.tokens
    else if (isCompactCheckpointSource(node.data.source)) parts.checkpoint += node.tokens
    else parts.user += node.tokens
  }
  return parts
}

function describeContext({ parts, reading, ratio, contextWindow, next }: Context): string {
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
    `next compaction  ${describeNext(next)}`,
  ].join('\n')
}

const describeNext = (next: SelectedSpan): string =>
  next.kind === 'span'
    ? `${next.seqs.length} messages, #${next.from} to #${next.to}, ${formatCount(next.tokens)} tokens`
    : `would take nothing: ${reasonText(next.reason)}`
