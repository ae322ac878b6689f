import { previewOf } from '../../client/preview.ts'
import type { CompactionPreview } from '../../shared/compaction/preview.ts'
import { reasonText } from '../../shared/compaction/reason-text.ts'
import type { Span } from '../../shared/protocol.ts'
import { costUsd, type PriceTable, priceOf } from '../../shared/usage/prices.ts'
import { promptClass } from '../../shared/usage/prompt-class.ts'
import type { Run } from '../action.ts'
import { formatUsd, pricesFrom } from '../prices.ts'
import { counted, formatCount } from '../table.ts'

export interface PreviewOptions {
  readonly focus?: string
  readonly span?: Span
  readonly prices?: string
}

type Compacting = Extract<CompactionPreview, { outcome: 'compacted' }>

export const preview: Run<PreviewOptions> = async (setting, [id = ''], { prices: file, ...asked }) => {
  const { store } = await setting.stored(id)
  const found = await previewOf(store, id, asked)
  if (found.outcome === 'nothing') {
    return setting.output.result(
      { sessionId: id, ...found },
      `A compaction would take nothing: ${reasonText(found.reason)}.`,
    )
  }
  const prices = pricesFrom(file)
  const usd = usdOf(prices, found)
  setting.output.result({ sessionId: id, ...found, usd, pricesOf: prices.date }, describe(found, usd, prices))
}

/** Null: the price table does not know the model. */
function usdOf(prices: PriceTable, { model, usage, calls }: Compacting): number | null {
  if (model === null) return 0
  const price = priceOf(prices, model)
  return price === undefined ? null : costUsd(price, usage, promptClass(usage, calls))
}

/** Identifiers that are printed; `--json` has those that the checkpoint would name as lost. */
const SHOWN = 12

function describe(found: Compacting, usd: number | null, prices: PriceTable): string {
  const { span, messages, kept, spanTokens, tokensBefore, tokensAfter, checkpointTokens, lost } = found
  const [shown, more] = [lost.identifiers.slice(0, SHOWN), lost.identifiers.length - SHOWN]
  const lines = [
    [
      'span',
      `#${span.start} to #${span.end}: ${counted(messages, 'message')}, ${formatCount(spanTokens)} tokens counted`,
    ],
    ['kept', `${counted(kept, 'message')} ${kept === 1 ? 'stays as it is' : 'stay as they are'}`],
    [
      'context',
      `about ${formatCount(tokensBefore)} → ${formatCount(tokensAfter)} tokens, with a checkpoint of ${formatCount(checkpointTokens)} written by code alone`,
    ],
    ['price', priceText(found, usd, prices)],
    [
      'lost',
      shown.length === 0 ? 'no identifier' : `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
    ],
  ]
  return [...lines.map(([name = '', value]) => `${name.padEnd(8)} ${value}`), 'Nothing was written.'].join(
    '\n',
  )
}

function priceText({ model, calls, usage }: Compacting, usd: number | null, prices: PriceTable): string {
  if (model === null) return 'nothing: code writes the checkpoint'
  const { inputTokens, outputTokens, cacheReadTokens } = usage
  const tokens = `${formatCount(inputTokens)} input, ${formatCount(cacheReadTokens)} cached, ${formatCount(outputTokens)} output`
  const money =
    usd === null
      ? `the prices of ${prices.date} do not know it; give others with --prices`
      : `about ${formatUsd(usd)}, prices of ${prices.date}`
  return `${calls} ${calls === 1 ? 'call' : 'calls'} of ${model}, about ${tokens}; ${money}`
}
