import type { OpenAI } from 'openai'
import type { ModelRequest } from '../../../shared/ports/model.ts'
import { chatMessages } from './openai-messages.ts'

/** Which field carries the limit of the reply: OpenAI's newer models refuse the first, most other servers know only it. */
type MaxTokensField = 'max_tokens' | 'max_completion_tokens'

/**
 * The body of one request, of the session's request alone. Settings of the session (`sampling`) go along as they are, `tool_choice` and
 * `stop_sequences` in this API's words, settings of the Messages API that have none here are left out.
 */
export function chatRequest(
  request: ModelRequest,
  {
    maxTokensField,
    acceptsMedia,
  }: { readonly maxTokensField: MaxTokensField; readonly acceptsMedia: boolean },
): OpenAI.ChatCompletionCreateParamsStreaming {
  const { model, system, tools, messages, maxTokens, sampling } = request
  const { tool_choice: choice, stop_sequences: stop, thinking: _t, betas: _b, ...rest } = sampling
  return {
    ...rest,
    ...(stop === undefined ? {} : { stop: stop as string[] }),
    model,
    messages: chatMessages(system, messages, acceptsMedia),
    [maxTokensField]: maxTokens,
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, inputSchema }) => ({
            type: 'function' as const,
            function: { name, description, parameters: inputSchema },
          })),
          ...(choice === undefined ? {} : { tool_choice: toolChoice(choice) }),
        }),
  }
}

/** `{type: 'any'}` and the like of the Messages API; this API's own words stay. */
function toolChoice(choice: unknown): OpenAI.ChatCompletionToolChoiceOption {
  const own = choice as OpenAI.ChatCompletionToolChoiceOption
  if (typeof choice !== 'object' || choice === null || !('type' in choice)) return own
  if (choice.type === 'any') return 'required'
  if (choice.type === 'auto' || choice.type === 'none') return choice.type
  if (choice.type === 'tool' && 'name' in choice)
    return { type: 'function', function: { name: String(choice.name) } }
  return own
}
