import { Stream } from '@anthropic-ai/sdk/streaming'
import type { ModelCallContext, ModelReply } from '../../../shared/ports/model.ts'
import type { CallClock, CallPhase } from '../call-clock.ts'
import { BrokenReply } from '../reply-errors.ts'
import { requireEvents } from '../require-events.ts'
import { type Draft, emptyDraft, replyOf, take } from './reply-events.ts'

/** An error that came as an event, behind a status that said that all is well. */
class ErrorEvent extends Error {
  override readonly name = 'ErrorEvent'
  readonly type: string | undefined

  constructor(type: string | undefined, message: string) {
    super(message)
    this.type = type
  }
}

/**
 * Reads one streamed reply, from its first event to its last.
 *
 * @throws BrokenReply or CutStream unless the whole message came, ErrorEvent, and what the connection throws
 */
export async function readReply(
  response: Response,
  clock: CallClock,
  { onDelta, onUsage }: Omit<ModelCallContext, 'signal'>,
): Promise<ModelReply> {
  requireEvents(response)
  const draft = emptyDraft()
  try {
    for await (const { event, data } of Stream.rawEvents(response)) {
      if (event === 'ping' || data === '' || data === '[DONE]') continue
      const parsed = parsedEvent(data)
      if (event === 'error') throw errorEvent(parsed)
      const { usage } = draft
      const text = take(draft, parsed)
      clock.tick(phaseOf(draft))
      if (text !== '') onDelta?.({ text })
      if (draft.usage !== null && draft.usage !== usage) onUsage?.(draft.usage)
    }
  } catch (error) {
    // What happens to the connection after the last event takes nothing from the message.
    if (!draft.ended || error instanceof BrokenReply) throw error
  }
  return replyOf(draft)
}

function parsedEvent(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    throw new BrokenReply('an event is no JSON')
  }
}

function errorEvent(body: unknown): ErrorEvent {
  const error = (body as { error?: { type?: unknown; message?: unknown } } | null)?.error
  const { type, message } = error ?? {}
  return new ErrorEvent(
    typeof type === 'string' ? type : undefined,
    typeof message === 'string' ? message : 'the provider gave no message',
  )
}

function phaseOf({ ended, blocks }: Draft): CallPhase {
  if (ended) return 'done'
  const last = blocks.at(-1)
  // Only text comes token by token. Of a call's input each value comes as a whole: a long one is minutes of silence.
  return last?.open === true && last.block.type === 'text' ? 'writing' : 'waiting'
}
