import { COMPACT_CHECKPOINT_SOURCE } from '../../shared/checkpoint-source.ts'
import { resolvePolicy } from '../../shared/compaction/policy.ts'
import { type ContentBlock, text } from '../../shared/session/content.ts'
import type { EventData, EventType, Header, NewEvent } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'

/** Small events for tests of logs and stores. Keys are the real ones; a message costs as many tokens as its text has characters. */

interface Place {
  readonly turn?: number | null
  readonly step?: number | null
}

export function event<T extends EventType>(
  key: string,
  type: T,
  data: EventData<T>,
  { turn = null, step = null }: Place = {},
): NewEvent<T> {
  return { key, type, turn, step, data, tokens: 0 } as NewEvent as NewEvent<T>
}

const message = <T extends EventType>(base: NewEvent<T>, words: string): NewEvent<T> => ({
  ...base,
  tokens: words.length,
  surfaceOp: 'append',
})

export const sampleHeader = (over: Partial<Header> = {}): Header => ({
  provider: 'scripted',
  model: 'small',
  system: 'You help.',
  tools: [],
  sampling: {},
  policy: resolvePolicy(
    { summarizer: 'deterministic' },
    { provider: 'scripted', model: 'small', contextWindow: 32_000, maxOutputTokens: 4096 },
  ),
  ...over,
})

export const sessionStart = () => event(keys.session(), 'session/start', { formatVersion: 1 })
export const requestHeader = (digest = 'h', header = sampleHeader()) =>
  event(keys.header(digest), 'request/header', header)
export const endSeed = (life: number) => event(keys.life(life), 'session/end-seed', {})
export const sessionClose = (requestId: string) => event(keys.close(requestId), 'session/close', {})

export const turnStart = (turn: number, requestId = `r${turn}`) =>
  event(keys.turnStart(requestId), 'turn/start', { turn, requestId }, { turn })
export const turnEnd = (turn: number) =>
  event(keys.turnEnd(turn), 'turn/end', { turn, reason: 'completed' }, { turn })
export const stepStart = (turn: number, step: number) =>
  event(keys.stepStart(turn, step), 'step/start', { turn, step }, { turn, step })
export const stepEnd = (turn: number, step: number) =>
  event(keys.stepEnd(turn, step), 'step/end', { turn, step }, { turn, step })

export const userMessage = (id: string, words: string, place: Place = {}) =>
  message(event(keys.prompt(id), 'user/message', { content: [text(words)], source: 'import' }, place), words)

export const assistantMessage = (
  turn: number,
  step: number,
  words: string,
  callIds: readonly string[] = [],
) =>
  message(
    event(
      keys.assistant(turn, step),
      'assistant/message',
      {
        content: [
          text(words),
          ...callIds.map((id): ContentBlock => ({ type: 'tool_use', id, name: 'read_file', input: {} })),
        ],
        usage: null,
        stopReason: callIds.length > 0 ? 'tool_use' : 'end_turn',
        provider: 'scripted',
        model: 'small',
      },
      { turn, step },
    ),
    words,
  )

export const toolResult = (turn: number, step: number, callId: string, words: string) =>
  message(
    event(
      keys.toolResult(turn, step, callId),
      'tool/result',
      { callId, name: 'read_file', content: [text(words)], isError: false },
      { turn, step },
    ),
    words,
  )

type Copied = 'tool/result' | 'user/message'

/** The price and the shorter copy of a result or a message. */
export function shadowCopy<T extends Copied>(
  original: NewEvent<T>,
  seq: number,
  words = '…',
): [NewEvent<'compact/prune'>, NewEvent<T>] {
  const price = event(keys.shadowPrice(seq), 'compact/prune', {
    shadowedRange: { start: seq, end: seq },
    shadowedSeqs: [seq],
    shadowedTokenCount: original.tokens,
  })
  const copy = {
    key: keys.shadow(seq),
    type: original.type,
    turn: null,
    step: null,
    data: { ...original.data, content: [text(words)] },
    tokens: words.length,
    surfaceOp: { op: 'replace', start: seq, end: seq },
    sourceEventSeqs: [seq],
  }
  return [price, copy as unknown as NewEvent<T>]
}

export const compactStart = (compactionId: string, turn: number | null = null) =>
  event(keys.compactStart(compactionId), 'compact/start', { compactionId, turn, cause: 'manual' }, { turn })

export const compactCall = (compactionId: string, index = 0, words = 'raw') =>
  event(keys.compactCall(compactionId, index), 'compact/call', {
    compactionId,
    index,
    purpose: 'summary',
    provider: 'scripted',
    model: 'small',
    stopReason: 'end_turn',
    rawOutput: [text(words)],
    accepted: true,
  })

export const compactSummary = (
  compactionId: string,
  seqs: readonly number[],
  tokens: number,
  turn: number | null = null,
) =>
  event(
    keys.compactSummary(compactionId),
    'compact/summary',
    {
      compactionId,
      summary: [text('summary')],
      shadowedRange: { start: seqs[0] ?? 0, end: seqs.at(-1) ?? 0 },
      shadowedSeqs: [...seqs],
      shadowedTokenCount: tokens,
      provider: 'durable-compaction',
      model: 'deterministic',
      lost: { counts: {}, identifiers: [] },
      ledger: {
        v: 1,
        items: [],
        said: { start: [], newest: [], leftOut: 0 },
        errors: [],
        assistantTexts: [],
        pins: [],
        covers: { messages: 1, tokens: 1, firstSeq: 0, lastSeq: 0 },
      },
    },
    { turn },
  )

/** `cited`: the start, the summary and the nodes of the span. */
export function checkpoint(
  compactionId: string,
  seqs: readonly number[],
  cited: readonly number[] = [],
  turn: number | null = null,
): NewEvent<'user/message'> {
  const words = 'checkpoint'
  return {
    ...event(
      keys.compactCheckpoint(compactionId),
      'user/message',
      { content: [text(words)], source: COMPACT_CHECKPOINT_SOURCE },
      { turn },
    ),
    tokens: words.length,
    surfaceOp: { op: 'replace', start: seqs[0] ?? 0, end: seqs.at(-1) ?? 0 },
    sourceEventSeqs: [...cited, ...seqs],
  }
}

export const compactEnd = (compactionId: string, turn: number | null = null, failed = false) =>
  event(
    keys.compactEnd(compactionId),
    'compact/end',
    {
      compactionId,
      turn,
      ...(failed ? { error: { code: 'summary', stage: 'summarize', message: 'no summary' } } : {}),
    },
    { turn },
  )

export const compactRestore = (compactionId: string, node: number): NewEvent<'compact/restore'> => ({
  ...event(keys.compactRestore(compactionId), 'compact/restore', { compactionId, checkpoint: node }),
  surfaceOp: { op: 'restore', node },
})
