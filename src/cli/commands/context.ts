import type { Command } from 'commander'
import { isCompactCheckpointSource } from '../../shared/checkpoint-source.ts'
import { initialMeter, meterStateSchema, ratioOf } from '../../shared/compaction/meter.ts'
import { modelKeyOf, takeReading } from '../../shared/compaction/pressure.ts'
import { selectSpan } from '../../shared/compaction/span.ts'
import type { SurfaceNode } from '../../shared/session/events.ts'
import { priceText, priceTools } from '../../shared/tokens/price.ts'
import { action, type Setting } from '../setting.ts'
import { formatCount, formatTable } from '../table.ts'

export function addContextCommand(program: Command): void {
  program
    .command('context <session>')
    .description('what fills the window now, and what the next compaction would take')
    .action(action(showContext))
}

async function showContext(setting: Setting, [id = '']: readonly string[]): Promise<void> {
  const { header } = await setting.stored(id)
  const [surface, stored, replies] = await Promise.all([
    setting.store.surface(id),
    setting.store.meter(id),
    setting.store.countEvents(id, 'assistant/message'),
  ])
  const meter = stored === null ? initialMeter() : meterStateSchema.parse(stored)
  const parts = {
    system: priceText(header.system),
    tools: priceTools(header.tools),
    ...byKind(surface.nodes),
  }
  const overheadTokens = parts.system + parts.tools
  const ratio = ratioOf(meter, modelKeyOf(header))
  const reading = takeReading({
    snapshot: surface,
    header,
    overheadTokens,
    meter,
    step: replies,
    nowMs: Date.now(),
  })
  const next = selectSpan({
    nodes: surface.nodes,
    cause: 'pressure',
    policy: header.policy,
    ratio,
    overheadTokens,
  })
  const total = Object.values(parts).reduce((sum, tokens) => sum + tokens, 0)
  const table = formatTable(
    ['part', 'tokens', 'share'],
    Object.entries(parts).map(([part, tokens]) => [
      part,
      formatCount(tokens),
      `${total === 0 ? 0 : Math.round((100 * tokens) / total)} %`,
    ]),
  )
  const window = header.policy.contextWindow
  const lines = [
    table,
    '',
    `request: about ${formatCount(reading.tokens)} tokens of ${window === null ? 'an unknown window' : formatCount(window)} (${ratio.toFixed(2)} of the provider's per token counted)`,
    `pressure: ${reading.pressure}${reading.limit === null ? ', off' : `, limit ${formatCount(reading.limit)}`}`,
    next.kind === 'span'
      ? `next compaction: ${next.seqs.length} messages, #${next.from} to #${next.to}, ${formatCount(next.tokens)} tokens`
      : `next compaction: nothing (${next.reason})`,
  ]
  setting.output.result({ sessionId: id, parts, reading, ratio, next }, lines.join('\n'))
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
