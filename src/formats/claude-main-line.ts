import { present } from './draft.ts'
import type { JsonlRecord } from './format-reader.ts'
import { isObject, type JsonObject, listAt, objectAt, stringAt } from './json-text.ts'
import { livePath } from './live-path.ts'
import type { RecordAccount } from './record-account.ts'
import type { SideChain } from './transcript.ts'

export interface ClaudeMainLine {
  /** The records that belong to no side chain. */
  readonly main: readonly JsonlRecord[]
  /** Lines of the main line: records of `main` that no rewind left behind. */
  readonly live: ReadonlySet<number>
  readonly sideChains: readonly SideChain[]
}

/** Separates sub-agents and abandoned branches from the conversation. The file of one sub-agent is a main line itself. */
export function claudeMainLine(records: readonly JsonlRecord[], account: RecordAccount): ClaudeMainLine {
  const onlySideChain = records.every(({ record }) => !isMessage(record) || record['isSidechain'] === true)
  if (onlySideChain) return { main: records, live: liveLines(records), sideChains: [] }
  const main = records.filter(({ record }) => record['isSidechain'] !== true)
  const side = records.filter(({ record }) => record['isSidechain'] === true)
  for (const { line } of side) account.leaveOut(line, 'side chain: the conversation of a sub-agent')
  return { main, live: liveLines(main), sideChains: chainsOf(side) }
}

const isMessage = (record: JsonObject) =>
  (record['type'] === 'user' || record['type'] === 'assistant') && objectAt(record, 'message') !== undefined

const parentId = (record: JsonObject) =>
  stringAt(record, 'parentUuid') ?? stringAt(record, 'logicalParentUuid')

function chainsOf(side: readonly JsonlRecord[]): SideChain[] {
  const chains: { line: number; records: number; agentId?: string }[] = []
  const chainOf = new Map<string, number>()
  for (const { line, record } of side) {
    const agentId = stringAt(record, 'agentId')
    const known = chainOf.get(`agent ${agentId}`) ?? chainOf.get(`uuid ${parentId(record)}`)
    const index = known ?? chains.length
    const chain = chains[index] ?? { line, records: 0, ...present({ agentId }) }
    chains[index] = chain
    chain.records++
    if (agentId !== undefined) chainOf.set(`agent ${agentId}`, index)
    const uuid = stringAt(record, 'uuid')
    if (uuid !== undefined) chainOf.set(`uuid ${uuid}`, index)
  }
  return chains
}

/**
 * The path from the last message to the first, and what belongs to it without being on it: the other records of its
 * replies, the results of its calls, and what the client attached to those. What remains was left by a rewind.
 */
function liveLines(main: readonly JsonlRecord[]): ReadonlySet<number> {
  const end = main.findLastIndex(({ record }) => isMessage(record)) + 1
  const linked = main.slice(0, end).filter(({ record }) => stringAt(record, 'uuid') !== undefined)
  const path = livePath(
    linked.map(({ line, record }) => ({ line, id: stringAt(record, 'uuid'), parentId: parentId(record) })),
  )
  const live = new Set(path)
  const replies = new Set(main.filter(({ line }) => path.has(line)).map(({ record }) => replyId(record)))
  const calls = new Set<unknown>()
  for (const { line, record } of main) {
    const id = replyId(record)
    if (stringAt(record, 'uuid') === undefined || (id !== undefined && replies.has(id))) live.add(line)
    if (live.has(line) && record['type'] === 'assistant')
      for (const block of blocksOf(record)) calls.add(block['id'])
  }
  const liveIds = new Set<string>()
  for (const { line, record } of main) {
    const answers = blocksOf(record).some(
      (block) => block['type'] === 'tool_result' && calls.has(block['tool_use_id']),
    )
    const attached =
      (record['isMeta'] === true || record['type'] === 'attachment') && liveIds.has(parentId(record) ?? '')
    if (answers || attached) live.add(line)
    if (live.has(line)) liveIds.add(stringAt(record, 'uuid') ?? '')
  }
  return live
}

const replyId = (record: JsonObject): string | undefined =>
  record['type'] === 'assistant' ? stringAt(objectAt(record, 'message') ?? {}, 'id') : undefined

const blocksOf = (record: JsonObject): readonly JsonObject[] =>
  listAt(objectAt(record, 'message') ?? {}, 'content').filter(isObject)
