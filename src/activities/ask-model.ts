import { ApplicationFailure } from '@temporalio/common'
import { z } from 'zod'
import { isSessionError, SessionError } from '../shared/errors.ts'
import type { ModelCallContext, ModelClient, ModelReply, ModelRequest } from '../shared/ports/model.ts'
import { problemOf } from '../shared/protocol.ts'
import { modelErrorOf } from '../shared/refusals/refusal-of.ts'
import { contentSchema } from '../shared/session/content.ts'
import { usageSchema } from '../shared/session/events.ts'
import { untilAborted } from './until-aborted.ts'

const replySchema = z.object({
  content: contentSchema,
  stopReason: z.string(),
  usage: usageSchema.nullable(),
  model: z.string().optional(),
})

/**
 * One call of a model client. It ends with the caller's cancel, also when the client ignores its signal.
 *
 * @throws ContextOverflowError, RefusedMediaError and SessionError as the client throws them; an error that says that the request is too long, or names an
 * image, as one of the former; anything else as ModelCallError; SessionError `ModelFailed` for what is no reply
 */
export async function askModel(
  client: Pick<ModelClient, 'generate'>,
  request: ModelRequest,
  context: ModelCallContext,
): Promise<ModelReply> {
  const reply = await untilAborted(generate(client, request, context), context.signal)
  const problem = problemOf(replySchema, reply, 'reply')
  if (problem === undefined) return reply
  throw new SessionError(
    'ModelFailed',
    `The client of ${request.provider}/${request.model} gave what is no reply: ${problem}.`,
  )
}

async function generate(
  client: Pick<ModelClient, 'generate'>,
  request: ModelRequest,
  context: ModelCallContext,
): Promise<ModelReply> {
  try {
    return await client.generate(request, context)
  } catch (error) {
    if (error instanceof ApplicationFailure || isSessionError(error)) throw error
    throw modelErrorOf(error, Date.now())
  }
}
