import { SessionError } from '../shared/errors.ts'
import type { ModelRequest } from '../shared/ports/model.ts'
import type { Header, SurfaceNode } from '../shared/session/events.ts'
import { deriveMessages } from '../shared/session/messages.ts'

/**
 * The request of a turn's next step: derived from header and surface alone, so that the log rebuilds it byte for byte.
 *
 * @param maxTokens where the reply must be shorter than the policy's; stands in the reply's event
 */
export function turnRequest(
  sessionId: string,
  header: Header,
  nodes: readonly SurfaceNode[],
  index: number,
  maxTokens: number = header.policy.replyMaxTokens,
): ModelRequest {
  const { provider, model } = header
  if (provider === null || model === null) {
    throw new SessionError(
      'InvalidInput',
      `Session ${sessionId} has no model, so it cannot take a turn: start it with a model.`,
    )
  }
  return {
    provider,
    model,
    system: header.system,
    tools: header.tools,
    messages: deriveMessages(nodes),
    maxTokens,
    sampling: header.sampling,
    purpose: 'turn',
    index,
    sessionId,
  }
}
