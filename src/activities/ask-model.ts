import { Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import { z } from 'zod'
import { isSessionError, SessionError } from '../shared/errors.ts'
import {
  ContextOverflowError,
  type ModelCallContext,
  type ModelClient,
  type ModelReply,
  type ModelRequest,
} from '../shared/ports/model.ts'
import { problemOf } from '../shared/protocol.ts'
import type { FailureKind, ProviderFailure } from '../shared/refusals/provider-failure.ts'
import { modelErrorOf } from '../shared/refusals/refusal-of.ts'
import { contentSchema } from '../shared/session/content.ts'
import { usageSchema } from '../shared/session/events.ts'
import { untilAborted } from './until-aborted.ts'

/** A failure that says nothing of itself may be the network: after so many attempts of the activity it is final. */
export const ATTEMPTS_OF_UNKNOWN = 5

/**
 * Attempts of the activity after which a failure is final. Limits and overloads pass, and cost nothing: they have what the activity has, 30 attempts in
 * 30 minutes. A reply that breaks off is paid each time.
 */
const ATTEMPTS: { readonly [kind in FailureKind]?: number } = {
  server: 10,
  connection: 10,
  timeout: 3,
  'cut-stream': ATTEMPTS_OF_UNKNOWN,
  'broken-reply': ATTEMPTS_OF_UNKNOWN,
  unknown: ATTEMPTS_OF_UNKNOWN,
}

const replySchema = z.object({
  content: contentSchema,
  stopReason: z.string(),
  usage: usageSchema.nullable(),
  model: z.string().optional(),
})

/**
 * One call of a model client. It ends with the caller's cancel, also when the client ignores its signal.
 *
 * @throws ContextOverflowError and SessionError as the client throws them; an error that says that the request is too long as the former; anything else as
 * SessionError `ModelFailed`, whose details say the kind, whether and when Temporal tries again, and the provider's request id
 */
export async function askModel(
  client: ModelClient,
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
  client: ModelClient,
  request: ModelRequest,
  context: ModelCallContext,
): Promise<ModelReply> {
  try {
    return await client.generate(request, context)
  } catch (error) {
    if (error instanceof ContextOverflowError || error instanceof ApplicationFailure || isSessionError(error))
      throw error
    const modelError = modelErrorOf(error, Date.now())
    throw modelError instanceof ContextOverflowError ? modelError : modelFailed(modelError.failure)
  }
}

function modelFailed({ message, ...failure }: ProviderFailure): SessionError {
  const { attempt } = Context.current().info
  const retryable = failure.retryable && attempt < (ATTEMPTS[failure.kind] ?? Number.POSITIVE_INFINITY)
  return new SessionError('ModelFailed', message, { ...failure, retryable })
}
