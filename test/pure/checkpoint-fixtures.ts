import {
  buildCheckpoint,
  type Checkpoint,
  type CheckpointInput,
} from '../../src/shared/compaction/checkpoint.ts'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import type { ResolvedPolicy } from '../../src/shared/compaction/policy-schema.ts'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import type { EventData, MessageSource, SessionEvent, SurfaceNode } from '../../src/shared/session/events.ts'
import { keys } from '../../src/shared/session/keys.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'

/** Surface nodes with deterministic seqs, for tests of pure code. */
export function nodeBuilder(firstSeq = 2) {
  let seq = firstSeq
  const node = <T extends SurfaceNode['type']>(
    type: T,
    data: EventData<T>,
    key = `${type}.${seq}`,
  ): SurfaceNode => {
    const tokens = countTokens(JSON.stringify(data.content))
    return {
      seq: seq++,
      time: 0,
      key,
      type,
      turn: 1,
      step: 1,
      data,
      tokens,
      surfaceOp: 'append',
    } as SurfaceNode
  }
  return {
    user: (content: string | ContentBlock[], source: MessageSource = 'prompt') =>
      node('user/message', { content: typeof content === 'string' ? [text(content)] : content, source }),
    assistant: (...content: ContentBlock[]) =>
      node('assistant/message', { content, usage: null, stopReason: 'end_turn', provider: 'p', model: 'm' }),
    result: (callId: string, name: string, output: string, isError = false) =>
      node('tool/result', { callId, name, content: [text(output)], isError }),
    checkpoint: (compactionId: string, content: readonly ContentBlock[]) =>
      node(
        'user/message',
        { content: [...content], source: 'durable-compaction/checkpoint' },
        keys.compactCheckpoint(compactionId),
      ),
    /** A call and a result of about `tokens` tokens that name nothing: a span is as large as real ones are. */
    bulk: (tokens = 20_000) => [
      node('assistant/message', {
        content: [call(`bulk${seq}`, 'read_file', {})],
        usage: null,
        stopReason: 'tool_use',
        provider: 'p',
        model: 'm',
      }),
      node('tool/result', {
        callId: `bulk${seq - 1}`,
        name: 'read_file',
        content: [text('word '.repeat(tokens))],
        isError: false,
      }),
    ],
  }
}

export const call = (id: string, name: string, input: Readonly<Record<string, unknown>>): ContentBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
})

export const testPolicy = (raw: unknown = {}, contextWindow = 200_000): ResolvedPolicy =>
  resolvePolicy(raw, { provider: 'p', model: 'm', contextWindow, maxOutputTokens: 64_000 })

export const summaryEvent = (
  compactionId: string,
  seq: number,
  { ledger, lost }: Checkpoint,
  summary: readonly ContentBlock[],
): SessionEvent<'compact/summary'> => ({
  seq,
  time: 0,
  key: keys.compactSummary(compactionId),
  type: 'compact/summary',
  turn: null,
  step: null,
  tokens: 0,
  data: {
    compactionId,
    summary: [...summary],
    shadowedRange: { start: 0, end: 0 },
    shadowedSeqs: [],
    shadowedTokenCount: 0,
    provider: 'p',
    model: 'm',
    lost,
    ledger,
  },
})

export const checkpointOf = (
  nodes: readonly SurfaceNode[],
  options: Partial<CheckpointInput> = {},
): Checkpoint =>
  buildCheckpoint({
    nodes,
    tail: [],
    previous: [],
    pinEvents: [],
    policy: testPolicy(),
    summary: null,
    countTokens,
    ...options,
  })

export const pageOf = ({ content }: Checkpoint): string =>
  content.map((block) => String(block['text'])).join('\n')
