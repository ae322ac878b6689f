import { anthropic, is, openai, type RefusalSample } from './sample.ts'

export const OTHERS: readonly RefusalSample[] = [
  {
    from: 'Anthropic, reply',
    status: 400,
    body: anthropic(
      'max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5-20251001',
    ),
    is: is('output-limit'),
  },
  {
    from: 'OpenAI, reply',
    status: 400,
    body: openai(
      'max_tokens is too large: 65535. This model supports at most 16384 completion tokens, whereas you provided 65535.',
      'invalid_value',
    ),
    is: is('output-limit'),
  },
  {
    from: 'DeepSeek, reply',
    status: 400,
    body: openai('Invalid max_tokens value, the valid range of max_tokens is [1, 8192]', null),
    is: is('output-limit'),
  },
  {
    from: 'DashScope, reply',
    status: 400,
    body: openai('Range of max_tokens should be [1, 8192]', null),
    is: is('output-limit'),
  },
  {
    from: 'Vertex, reply',
    status: 400,
    body: {
      error: {
        message:
          'Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 8193 (exclusive). Update the value and try again.',
      },
    },
    is: is('output-limit'),
  },
  {
    from: 'Bedrock, reply',
    status: 400,
    body: 'The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.',
    is: is('output-limit'),
  },
  {
    from: 'Groq, reply',
    status: 400,
    body: openai(
      '`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model',
      null,
    ),
    is: is('output-limit'),
  },
  {
    from: 'OpenRouter, a reply that fills the window alone',
    status: 400,
    body: openai(
      "This endpoint's maximum context length is 256000 tokens. However, you requested about 256011 tokens (11 of text input, 256000 in the output). Please reduce the length of either one.",
      400,
    ),
    is: { kind: 'output-limit', windowTokens: 256_000, requestTokens: 11, replyTokens: 256_000 },
  },
  {
    from: 'vLLM, a reply larger than the window',
    status: 400,
    body: "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 40 input tokens (5000 > 4096 - 40).",
    is: { kind: 'output-limit', windowTokens: 4_096, requestTokens: 40, replyTokens: 5_000 },
  },
  {
    from: 'Anthropic, rate',
    status: 429,
    body: anthropic(
      "This request would exceed your organization's rate limit of 50,000 input tokens per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits.",
      'rate_limit_error',
    ),
    is: is('rate-limit'),
  },
  {
    from: 'OpenAI, rate of tokens, a request larger than the rate',
    status: 429,
    body: openai(
      'Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 41000. The input or output tokens must be reduced in order to run successfully.',
      'rate_limit_exceeded',
      'tokens',
    ),
    is: is('rate-limit'),
  },
  {
    from: 'Groq, rate of tokens through a 413',
    status: 413,
    body: openai(
      'Request too large for model `openai/gpt-oss-120b` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 8000, Requested 11881, please reduce your message size and try again.',
      'rate_limit_exceeded',
      'tokens',
    ),
    is: is('rate-limit'),
  },
  {
    from: 'Bedrock, ThrottlingException',
    body: Object.assign(new Error('Too many tokens, please wait before trying again.'), {
      name: 'ThrottlingException',
      $metadata: { httpStatusCode: 429 },
    }),
    is: is('rate-limit'),
  },
  {
    from: 'Bedrock, the same as text',
    body: 'Throttling error: Too many tokens, please wait before trying again.',
    is: is('rate-limit'),
  },
  {
    from: 'Google, quota of input tokens',
    status: 429,
    body: {
      error: {
        code: 429,
        message:
          'You exceeded your current quota. Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000, model: gemini-2.5-flash. Please retry in 39.8s.',
        status: 'RESOURCE_EXHAUSTED',
      },
    },
    is: is('rate-limit'),
  },
  {
    from: 'DashScope, a rate that rises',
    status: 400,
    body: openai(
      'Request rate increased too quickly. To ensure system stability, please adjust your client logic',
      null,
    ),
    is: is('rate-limit'),
  },
  {
    from: 'a status alone',
    status: 429,
    body: 'maximum context length is 4096 tokens',
    is: is('rate-limit'),
  },
  {
    from: 'Anthropic, bytes',
    status: 413,
    body: anthropic('Request exceeds the maximum allowed number of bytes.', 'request_too_large'),
    is: is('request-bytes'),
  },
  {
    from: 'Anthropic, one image',
    status: 400,
    body: anthropic(
      'messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes',
    ),
    is: is('request-bytes'),
  },
  {
    from: 'Anthropic and Bedrock, bytes of text',
    status: 400,
    body: anthropic('messages: too many total text bytes: 9437184 > 9000000'),
    is: is('request-bytes'),
  },
  {
    from: 'nginx',
    status: 413,
    body: '<html><head><title>413 Request Entity Too Large</title></head></html>',
    is: is('request-bytes'),
  },
  { from: 'a gateway, a 413 without a body', status: 413, body: '', is: is('request-bytes') },
  {
    from: 'Google, bytes',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'Request payload size exceeds the limit: 20971520 bytes.',
        status: 'INVALID_ARGUMENT',
      },
    },
    is: is('request-bytes'),
  },
  {
    from: 'OpenAI, characters of one message',
    status: 400,
    body: openai(
      "Invalid 'messages[3].content': string too long. Expected a string with maximum length 1048576, but got a string with length 2097152 instead.",
      'string_above_max_length',
    ),
    is: is('request-bytes'),
  },
  { from: 'Anthropic, overloaded', status: 529, body: anthropic('Overloaded', 'overloaded_error'), is: null },
  { from: 'Anthropic, server', status: 500, body: anthropic('Internal server error', 'api_error'), is: null },
  {
    from: 'Anthropic, a feature',
    status: 400,
    body: anthropic('The long context beta is not yet available for this subscription.'),
    is: null,
  },
  {
    from: 'Anthropic, a field',
    status: 400,
    body: anthropic(
      'messages.5: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.',
    ),
    is: null,
  },
  {
    from: 'Anthropic, money',
    status: 400,
    body: anthropic(
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
    ),
    is: null,
  },
  {
    from: 'OpenAI, key',
    status: 401,
    body: openai('Incorrect API key provided: sk-abc.', 'invalid_api_key'),
    is: null,
  },
  {
    from: 'OpenAI, a parameter that speaks of the context',
    status: 400,
    body: openai('Unsupported parameter: context. Remove it and try again.', 'unsupported_parameter'),
    is: null,
  },
  {
    from: 'OpenAI, schema',
    status: 400,
    body: openai("Invalid schema for function 'read_file': object schema missing properties.", null),
    is: null,
  },
  {
    from: 'Ollama, memory',
    body: 'model requires more system memory (12.0 GiB) than is available (8.0 GiB)',
    is: null,
  },
  {
    from: 'Node, network',
    body: Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }),
    is: null,
  },
  { from: 'an abort', body: new Error('This operation was aborted'), is: null },
  { from: 'nothing', body: {}, is: null },
]
