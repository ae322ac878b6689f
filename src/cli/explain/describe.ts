import { reasonText } from '../../shared/compaction/reason-text.ts'
import type { CompactionCause } from '../../shared/session/events.ts'
import { printable } from '../draw-event.ts'
import { formatUsd } from '../prices.ts'
import { formatCount, formatMs, formatTable } from '../table.ts'
import type { Account, Messages } from './account.ts'
import { lostText } from './lost-text.ts'

const ASKED_BY: Readonly<Record<CompactionCause, string>> = {
  pressure: 'the policy: the context had reached its limit',
  'context-overflow': 'a request that did not fit',
  tool: 'the model, by its tool compact',
  manual: 'a person',
  region: 'a person, for this region',
}

const NAMES_SHOWN = 20

/** An account for people. */
export function describeAccount(account: Account): string {
  const lines: readonly (readonly [string, string | null])[] = [
    ['compaction', `${account.compactionId} of ${account.sessionId}: ${outcomeOf(account)}`],
    ['asked by', askedBy(account)],
    ['focus', account.focus === undefined ? null : printable(account.focus)],
    ['when', when(account)],
    ['context', context(account)],
    [
      'shortened',
      account.shortened.length === 0
        ? null
        : `${counted(account.shortened.length, 'result')} first: ${span(account.shortened)}`,
    ],
    [
      account.checkpoint === null ? 'planned' : 'replaced',
      account.replaced === null ? null : messages(account.replaced),
    ],
    ['kept', account.kept === null ? null : messages(account.kept)],
    ['checkpoint', checkpoint(account)],
    ['failed', failed(account)],
    ['dropped', dropped(account)],
    ['paid', paid(account)],
    ['events', eventsOf(account)],
  ]
  const said = lines.flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(10)}  ${value}`]))
  return [...said, ...callTable(account)].join('\n')
}

function outcomeOf({ state, outcome, undoneAt }: Account): string {
  if (undoneAt !== undefined) return `compacted, undone (#${undoneAt}): what it replaced is back`
  if (outcome === null) return state
  if (outcome.error !== undefined)
    return `failed (${outcome.error.code}, at ${outcome.error.stage}): ${printable(outcome.error.message)}`
  return outcome.reason === undefined ? outcome.outcome : `${outcome.outcome}: ${reasonText(outcome.reason)}`
}

const askedBy = ({ cause, requestIds }: Account): string =>
  `${ASKED_BY[cause]}${requestIds.length === 0 ? '' : ` (request ${requestIds.map(printable).join(', ')})`}`

function when({ startedAt, durationMs, turn }: Account): string {
  const date = new Date(startedAt).toISOString().slice(0, 19).replace('T', ' ')
  const took = durationMs === null ? 'has not ended' : `took ${formatMs(durationMs)}`
  return `${date} UTC, ${turn === null ? 'between turns' : `in turn ${turn}`}, ${took}`
}

const context = ({ outcome }: Account): string | null =>
  outcome === null
    ? null
    : `${formatCount(outcome.tokensBefore)} → ${formatCount(outcome.tokensAfter)} tokens`

const messages = ({ seqs, tokens }: Messages): string =>
  seqs.length === 0
    ? 'nothing'
    : `${counted(seqs.length, 'message')} of ${formatCount(tokens)} tokens: ${span(seqs)}`

function span(seqs: readonly number[]): string {
  const [first] = seqs
  return seqs.length === 1 ? `#${first}` : `#${first} to #${seqs.at(-1)}`
}

function checkpoint({ checkpoint: written, covers, writtenBy }: Account): string | null {
  if (written === null || covers === null) return null
  return `#${written.seq} of ${formatCount(written.tokens)} tokens, summary by ${writtenBy}; stands for ${counted(covers.messages, 'message')}, #${covers.firstSeq} to #${covers.lastSeq}`
}

const failed = ({ failedModels }: Account): string | null =>
  failedModels.length === 0
    ? null
    : failedModels
        .map(({ provider, model, reason }) => printable(`${provider}/${model} (${reason})`))
        .join(', ')

function dropped({ lost }: Account): string | null {
  if (lost === null) return null
  const counts = lostText(lost)
  if (lost.identifiers.length === 0) return `${counts}; every name is in the checkpoint`
  const names = lost.identifiers.slice(0, NAMES_SHOWN).map((name) => printable(name).replaceAll('\n', ' '))
  const more = lost.identifiers.length - names.length
  return `${counts}\n            names that are not in the checkpoint: ${names.join(', ')}${more > 0 ? `, and ${more} more` : ''}`
}

function paid({ calls, outcome, usd, pricesOf }: Account): string {
  if (calls.length === 0) return 'nothing'
  const reused = outcome?.paid.reused ?? 0
  const money = usd === null ? 'price not known' : `${formatUsd(usd)} (prices of ${pricesOf})`
  return `${counted(calls.length, 'call')}, ${money}${reused === 0 ? '' : `; ${counted(reused, 'call')} taken from the log after a crash`}`
}

function eventsOf({ outcome, calls, checkpoint: written }: Account): string | null {
  const named = [
    ['start', outcome?.startSeq],
    ...calls.map(({ seq }) => ['call', seq] as const),
    ['summary', outcome?.summarySeq],
    ['checkpoint', written?.seq],
    ['end', outcome?.endSeq],
  ] as const
  const known = named.flatMap(([name, seq]) => (seq === undefined ? [] : [`${name} #${seq}`]))
  return known.length === 0 ? null : known.join(', ')
}

const COLUMNS = ['call', 'purpose', 'model', 'input', 'cache read', 'cache write', 'output', 'cost', 'answer']

function callTable({ calls }: Account): string[] {
  if (calls.length === 0) return []
  const rows = calls.map(
    ({ seq, purpose, provider, model, usage, usd, lost, accepted, refusedBecause, stopReason }) => [
      `#${seq}`,
      purpose,
      `${provider}/${model}`,
      ...(usage === undefined
        ? ['', '', '', '']
        : [usage.inputTokens, usage.cacheReadTokens, usage.cacheWriteTokens, usage.outputTokens].map(
            formatCount,
          )),
      usd === null ? '' : formatUsd(usd),
      lost ? `lost: ${stopReason}` : accepted ? 'accepted' : `refused: ${refusedBecause ?? stopReason}`,
    ],
  )
  return ['', formatTable(COLUMNS, rows)]
}

const counted = (count: number, what: string): string =>
  `${formatCount(count)} ${what}${count === 1 ? '' : 's'}`
