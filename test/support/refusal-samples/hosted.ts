import { anthropic, openai, overflow, type RefusalSample } from './sample.ts'

export const HOSTED: readonly RefusalSample[] = [
  {
    from: 'Anthropic, docs “Errors”; anthropics/claude-code#25620',
    status: 400,
    body: anthropic('prompt is too long: 213462 tokens > 200000 maximum'),
    is: overflow(200_000, 213_462),
  },
  {
    from: 'Anthropic, strands-agents/sdk-python#152',
    status: 400,
    body: anthropic(
      'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
    ),
    is: overflow(200_000, 188_240, 21_333),
  },
  {
    from: 'Anthropic, docs “Handling stop reasons”',
    body: { stop_reason: 'model_context_window_exceeded' },
    is: overflow(),
  },
  {
    from: 'Vertex, Claude models',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'prompt is too long: 201000 tokens > 200000 maximum',
        status: 'INVALID_ARGUMENT',
      },
    },
    is: overflow(200_000, 201_000),
  },
  {
    from: 'OpenAI chat completions, docs “Error codes”',
    status: 400,
    body: openai(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130518 tokens. Please reduce the length of the messages.",
      'context_length_exceeded',
    ),
    is: overflow(128_000, 130_518),
  },
  {
    from: 'OpenAI completions, langchain-ai/langchain#24058',
    status: 400,
    body: openai(
      "This model's maximum context length is 8192 tokens, however you requested 9000 tokens (8000 in your prompt; 1000 for the completion). Please reduce your prompt; or completion length.",
      null,
    ),
    is: overflow(8_192, 8_000, 1_000),
  },
  {
    from: 'OpenAI responses, openai/codex issues',
    status: 400,
    body: openai(
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
      'context_length_exceeded',
    ),
    is: overflow(),
  },
  {
    from: 'OpenAI responses, `response.failed` without a status',
    body: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    is: overflow(),
  },
  {
    from: 'Azure OpenAI, with functions',
    status: 400,
    body: openai(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens (149000 in the messages, 1000 in the functions). Please reduce the length of the messages or functions.",
      'context_length_exceeded',
    ),
    is: overflow(128_000, 149_000),
  },
  {
    from: 'Azure OpenAI, GPT-5',
    status: 400,
    body: {
      error: {
        message:
          'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 305127 tokens. Please reduce the length of the messages.',
      },
    },
    is: overflow(272_000, 305_127),
  },
  {
    from: 'OpenRouter, docs “Errors”',
    status: 400,
    body: openai(
      `This endpoint's maximum context length is 131072 tokens. However, you requested about 148000 tokens (130000 of text input, 18000 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.`,
      400,
    ),
    is: overflow(131_072, 130_000, 18_000),
  },
  {
    from: 'OpenRouter, an upstream error as JSON in a string',
    status: 400,
    body: {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          raw: JSON.stringify(anthropic('prompt is too long: 213456 tokens > 200000 maximum')),
          provider_name: 'Anthropic',
        },
      },
    },
    is: overflow(200_000, 213_456),
  },
  {
    from: 'OpenRouter, an upstream error as plain text',
    status: 400,
    body: {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: 'Input is too long for requested model', provider_name: 'Amazon Bedrock' },
      },
    },
    is: overflow(),
  },
  {
    from: 'LiteLLM, its exception and a 503 of its own',
    status: 503,
    body: "litellm.APIConnectionError: OpenAIException - Requested token count exceeds the model's maximum context length of 131072 tokens.",
    is: overflow(131_072),
  },
  {
    from: 'LiteLLM, exception name',
    status: 400,
    body: 'litellm.ContextWindowExceededError: litellm.BadRequestError: the request does not fit',
    is: overflow(),
  },
  {
    from: 'Google Gemini API',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
        status: 'INVALID_ARGUMENT',
      },
    },
    is: overflow(1_048_575, 1_196_265),
  },
  {
    from: 'Google Gemini API, without the size',
    status: 400,
    body: [
      {
        error: {
          code: 400,
          message: 'The input token count exceeds the maximum number of tokens allowed 1048576.',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    is: overflow(1_048_576),
  },
  {
    from: 'Vertex, Gemini models',
    status: 400,
    body: {
      error: {
        code: 400,
        message:
          'Unable to submit request because the input token count is 1100000 but model only supports up to 1048576.',
        status: 'INVALID_ARGUMENT',
      },
    },
    is: overflow(),
  },
  {
    from: 'Bedrock, InvokeModel',
    body: Object.assign(new Error('Input is too long for requested model.'), {
      name: 'ValidationException',
      $metadata: { httpStatusCode: 400 },
    }),
    is: overflow(),
  },
  {
    from: 'Bedrock, Claude through Converse',
    body: Object.assign(
      new Error(
        'The model returned the following errors: input length and `max_tokens` exceed context limit: 200387 + 8192 > 204698, decrease input length or `max_tokens` and try again',
      ),
      { name: 'ValidationException', $metadata: { httpStatusCode: 400 } },
    ),
    is: overflow(204_698, 200_387, 8_192),
  },
  {
    from: 'Bedrock, Llama',
    status: 400,
    body: {
      message: "This model's maximum context length is 8192 tokens. Please reduce the length of the prompt",
    },
    is: overflow(8_192),
  },
  {
    from: 'Databricks model serving before Bedrock, strands-agents/sdk-python#1528',
    status: 400,
    body: { error_code: 'BAD_REQUEST', message: '{"message":"Input is too long."}' },
    is: overflow(),
  },
  {
    from: 'Mistral',
    status: 400,
    body: {
      object: 'error',
      message:
        'Prompt contains 140000 tokens and 0 draft tokens, too large for model with 128000 maximum context length',
      type: 'invalid_request_message_order',
    },
    is: overflow(128_000, 140_000),
  },
  {
    from: 'xAI',
    status: 400,
    body: {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
    is: overflow(131_072, 537_812),
  },
  {
    from: 'Groq',
    status: 400,
    body: openai('Please reduce the length of the messages or completion.', 'context_length_exceeded'),
    is: overflow(),
  },
  {
    from: 'DeepSeek',
    status: 400,
    body: openai(
      "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (132000 in the messages, 8000 in the completion). Please reduce the length of the messages or completion.",
      'invalid_request_error',
    ),
    is: overflow(131_072, 132_000, 8_000),
  },
  {
    from: 'Together',
    status: 422,
    body: openai(
      "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
      null,
    ),
    is: overflow(262_144, 516_368),
  },
  {
    from: 'Fireworks',
    status: 400,
    body: openai('The prompt is too long: 203557, model maximum context length: 196607', null),
    is: overflow(196_607, 203_557),
  },
  {
    from: 'Poolside',
    status: 400,
    body: 'Input length 131393 exceeds the maximum allowed input length of 131040 tokens.',
    is: overflow(131_040, 131_393),
  },
  {
    from: 'GitHub Copilot',
    status: 400,
    body: {
      error: {
        message: 'prompt token count of 391491 exceeds the limit of 128000',
        code: 'model_max_prompt_tokens_exceeded',
      },
    },
    is: overflow(128_000, 391_491),
  },
  {
    from: 'GitHub Copilot, through a 413',
    status: 413,
    body: { error: { message: 'Request Entity Too Large', code: 'model_max_prompt_tokens_exceeded' } },
    is: overflow(),
  },
  {
    from: 'Moonshot',
    status: 400,
    body: openai(
      'Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)',
      null,
    ),
    is: overflow(262_144, 291_351),
  },
  {
    from: 'DashScope, QwenLM/qwen-code#3652',
    status: 400,
    body: openai(
      '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]',
      null,
    ),
    is: overflow(983_616),
  },
  {
    from: 'MiniMax',
    status: 400,
    body: openai('invalid params, context window exceeds limit (2013)', null),
    is: overflow(),
  },
  {
    from: 'GLM, code 1261',
    status: 400,
    body: { error: { code: '1261', message: 'Prompt exceeds max length' } },
    is: overflow(),
  },
  {
    from: 'GLM, as a finish reason behind a 200',
    status: 200,
    body: { choices: [{ finish_reason: 'model_context_window_exceeded' }] },
    is: overflow(),
  },
  {
    from: 'Cohere',
    status: 400,
    body: {
      message:
        'too many tokens: size limit exceeded by 12345 tokens. Try using shorter or fewer inputs, or setting prompt_truncation',
    },
    is: overflow(),
  },
  {
    from: 'Cohere, older',
    status: 400,
    body: { message: 'too many tokens: total number of tokens must be at most 4096' },
    is: overflow(4_096),
  },
  {
    from: 'Volcengine',
    status: 400,
    body: openai(
      'Total tokens of image and text exceed max message tokens. Request id: 0217',
      'InvalidParameter',
    ),
    is: overflow(),
  },
  {
    from: 'Vercel AI SDK, APICallError with the body as text',
    body: Object.assign(new Error('Bad Request'), {
      name: 'AI_APICallError',
      statusCode: 400,
      responseBody: JSON.stringify(anthropic('prompt is too long: 205000 tokens > 200000 maximum')),
    }),
    is: overflow(200_000, 205_000),
  },
  {
    from: 'OpenAI SDK, BadRequestError with code and error',
    body: Object.assign(new Error('400 This request is too large for it.'), {
      status: 400,
      code: 'context_length_exceeded',
      error: { message: 'This request is too large for it.', code: 'context_length_exceeded' },
    }),
    is: overflow(),
  },
  {
    from: 'a cause inside another error',
    body: new Error('model call failed', { cause: new Error('prompt is too long: 3 tokens > 2 maximum') }),
    is: overflow(2, 3),
  },
]
