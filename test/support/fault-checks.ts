import { isCompactCheckpointSource } from '../../src/shared/checkpoint-source.ts'
import { holdsCallMarkup } from '../../src/shared/compaction/call-markup.ts'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import { isText, text } from '../../src/shared/session/content.ts'
import type { SessionEvent, SurfaceNode } from '../../src/shared/session/events.ts'
import { foldLog } from '../../src/shared/session/log.ts'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'

// The invariants that every fault test checks: on each request that a model gets, and on the store afterwards. One sentence per problem.

export interface RequestFacts {
  readonly inputTokens: number
  /** Null: nobody said how large it is, so that nothing can be known not to fit. */
  readonly contextWindow: number | null
  readonly maxBodyBytes: number
}

/** O1, O2, O5, O6, O12 and O14 of one request, as it is received. */
export async function receivedProblems(
  store: SessionStore,
  request: ModelRequest,
  { inputTokens, contextWindow, maxBodyBytes }: RequestFacts,
): Promise<string[]> {
  const window = {
    maxBodyBytes,
    ...(contextWindow === null
      ? {}
      : { window: { contextTokens: inputTokens, maxTokens: request.maxTokens, contextWindow } }),
  }
  if (request.purpose === 'summary') return requestProblems(request.messages, window)
  const [session, { nodes }] = await Promise.all([
    store.session(request.sessionId),
    store.surface(request.sessionId),
  ])
  const { system, tools } = session?.header ?? {}
  return [
    ...requestProblems(request.messages, { ...window, surface: nodes }),
    ...unreadResults(request, nodes),
    ...(request.system === system && JSON.stringify(request.tools) === JSON.stringify(tools)
      ? []
      : ['O12: system or tools are not those of the session']),
  ]
}

/** What the model has not read yet stands in its last message, word for word. */
function unreadResults(request: ModelRequest, nodes: readonly SurfaceNode[]): string[] {
  const last = nodes.findLastIndex((node) => node.type === 'assistant/message')
  const said = JSON.stringify(request.messages.at(-1))
  return nodes
    .slice(last + 1)
    .flatMap((node) =>
      node.type === 'tool/result' && !node.data.content.every((block) => said.includes(JSON.stringify(block)))
        ? [`O6: the unread result of ${node.data.callId} is not word for word in the last message`]
        : [],
    )
}

/** O3, O4, O5, O7, O9 and the pairs of what is left, of a session that rests. */
export async function storeProblems(
  store: SessionStore,
  sessionId: string,
  events: readonly SessionEvent[],
): Promise<string[]> {
  const { nodes } = await store.surface(sessionId)
  const messages = deriveMessages(nodes)
  const next =
    messages.at(-1)?.role === 'assistant' ? [{ role: 'user' as const, content: [text('Next.')] }] : []
  return [
    ...(JSON.stringify(foldLog(events).surface) === JSON.stringify(nodes)
      ? []
      : ['O16: the surface is not what the log adds up to']),
    ...(nodes.length === 0
      ? []
      : requestProblems([...messages, ...next], { surface: nodes }).filter(isNoEnd)),
    ...checkpointProblems(nodes),
    ...endProblems(events),
    ...summaryProblems(events),
    ...failureProblems(events),
    ...(await promptProblems(store, sessionId, events)),
  ]
}

/** The message that stands for the next prompt is not on the surface. */
const isNoEnd = (problem: string) => !problem.startsWith('O6')

function checkpointProblems(nodes: readonly SurfaceNode[]): string[] {
  const places = nodes.flatMap((node, place) =>
    node.type === 'user/message' && isCompactCheckpointSource(node.data.source) ? [place] : [],
  )
  return places.length <= 1 ? [] : [`O3: ${places.length} live checkpoints, at ${places.join(', ')}`]
}

function endProblems(events: readonly SessionEvent[]): string[] {
  const count = (type: SessionEvent['type'], of: (event: SessionEvent) => unknown) => {
    const counts = new Map<unknown, number>()
    for (const event of events)
      if (event.type === type) counts.set(of(event), (counts.get(of(event)) ?? 0) + 1)
    return counts
  }
  const attempt = ({ data }: SessionEvent) => ('compactionId' in data ? data.compactionId : undefined)
  const pairs = [
    [count('compact/start', attempt), count('compact/end', attempt), 'compaction'],
    [count('turn/start', ({ turn }) => turn), count('turn/end', ({ turn }) => turn), 'turn'],
  ] as const
  return pairs.flatMap(([starts, ends, what]) =>
    [...starts].flatMap(([id, times]) =>
      times === 1 && ends.get(id) === 1
        ? []
        : [`O9: ${what} ${id} has ${times} starts and ${ends.get(id) ?? 0} ends`],
    ),
  )
}

const MOST_SUMMARY_CHARS = 2_700 * 8

function summaryProblems(events: readonly SessionEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.type !== 'compact/summary') return []
    const { compactionId: id, summary, shadowedTokenCount } = event.data
    const said = summary.map((block) => (isText(block) ? block.text : '')).join('')
    const checkpoint = events.find(({ key }) => key === event.key.replace(/\.summary$/, '.checkpoint'))
    const byModel = event.data.provider !== 'durable-compaction'
    const accepted = events.filter(
      (call) => call.type === 'compact/call' && call.data.compactionId === id && call.data.accepted,
    )
    return [
      ...(checkpoint !== undefined && checkpoint.tokens < shadowedTokenCount
        ? []
        : [`O3: the checkpoint of ${id} is not smaller than its span`]),
      ...(summary.every(isText) && /[\p{L}\p{N}]/u.test(said) && said.length <= MOST_SUMMARY_CHARS
        ? []
        : [`O7: the summary of ${id} is no text within its bounds`]),
      ...(holdsCallMarkup(said) ? [`O7: the summary of ${id} holds call markup`] : []),
      ...(!byModel ||
      accepted.some((call) => call.type === 'compact/call' && isComplete(call.data.stopReason))
        ? []
        : [`O7: no complete answer of a model stands behind the summary of ${id}`]),
    ]
  })
}

const isComplete = (stopReason: string) => stopReason === 'end_turn'

/** A failed attempt leaves what was there at its start; messages that came meanwhile stand behind it. */
function failureProblems(events: readonly SessionEvent[]): string[] {
  return events.flatMap((end) => {
    if (end.type !== 'compact/end' || end.data.error === undefined) return []
    const { compactionId: id } = end.data
    const start = events.find((event) => event.type === 'compact/start' && event.data.compactionId === id)
    if (start === undefined) return []
    const before = foldLog(events.slice(0, start.seq)).surface
    const after = foldLog(events.slice(0, end.seq + 1)).surface
    const kept = JSON.stringify(after.slice(0, before.length)) === JSON.stringify(before)
    return kept ? [] : [`O4: the failed attempt ${id} changed the surface`]
  })
}

/** Every accepted prompt is in the log once, word for word, or waits. */
async function promptProblems(
  store: SessionStore,
  sessionId: string,
  events: readonly SessionEvent[],
): Promise<string[]> {
  const rows = await store.inbox(sessionId, { kind: 'prompt', limit: 1_000 })
  return rows.flatMap(({ requestId, state, body }) => {
    const found = events.filter(
      (event) => event.type === 'user/message' && event.data.requestId === requestId,
    )
    if (found.length !== (state === 'waiting' || state === 'refused' ? 0 : 1))
      return [`O5: prompt ${requestId} (${state}) is ${found.length} times in the log`]
    const [event] = found
    return event?.type === 'user/message' && JSON.stringify(event.data.content) !== JSON.stringify(body)
      ? [`O5: prompt ${requestId} is not word for word in the log`]
      : []
  })
}
