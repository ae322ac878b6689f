import { overflow, type RefusalSample } from './sample.ts'

export const SERVERS: readonly RefusalSample[] = [
  {
    from: 'vLLM, vllm-project/vllm#20409',
    status: 400,
    body: {
      object: 'error',
      message:
        "This model's maximum context length is 16384 tokens. However, you requested 22946 tokens (12946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    is: overflow(16_384, 12_946, 10_000),
  },
  {
    from: 'vLLM, decoder prompt',
    status: 400,
    body: {
      object: 'error',
      message:
        'The decoder prompt (length 8357) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens.',
      type: 'BadRequestError',
      code: 400,
    },
    is: overflow(8_192, 8_357),
  },
  {
    from: 'vLLM, vllm-project/vllm#12165',
    body: 'ValueError: The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.',
    is: overflow(4_096, 25_938),
  },
  {
    from: 'vLLM, reply and input together',
    status: 400,
    body: {
      object: 'error',
      message:
        "'max_tokens' or 'max_completion_tokens' is too large: 3000. This model's maximum context length is 4096 tokens and your request has 2000 input tokens (3000 > 4096 - 2000).",
      type: 'BadRequestError',
      code: 400,
    },
    is: overflow(4_096, 2_000, 3_000),
  },
  {
    from: 'vLLM 0.15, vllm-project/vllm#36197',
    status: 400,
    body: "This model's maximum context length is 32768 tokens. However, you requested 8192 output tokens and your prompt contains at least 30000 input tokens, for a total of at least 38192 tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
    is: overflow(32_768, 30_000, 8_192),
  },
  {
    from: 'SGLang',
    status: 400,
    body: "Error: 400 Input length (265330) exceeds model's maximum context length (262144).",
    is: overflow(262_144, 265_330),
  },
  {
    from: 'SGLang, with the reply',
    status: 400,
    body: {
      object: 'error',
      message:
        "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens: 36000 tokens from the input messages and 4000 tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
      type: 'BadRequestError',
    },
    is: overflow(32_768),
  },
  {
    from: 'Text Generation Inference, validation.rs',
    status: 422,
    body: {
      error: 'Input validation error: `inputs` must have less than 1024 tokens. Given: 1532',
      error_type: 'validation',
    },
    is: overflow(1_024, 1_532),
  },
  {
    from: 'Text Generation Inference, with the reply',
    status: 422,
    body: {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 500 `max_new_tokens`',
      error_type: 'validation',
    },
    is: overflow(4_096, 4_000, 500),
  },
  {
    from: 'Ollama',
    status: 400,
    body: { error: 'prompt too long; exceeded max context length by 100918 tokens' },
    is: overflow(),
  },
  {
    from: 'Ollama cloud',
    status: 400,
    body: { error: 'The prompt is too long: 265392, model maximum context length: 262144' },
    is: overflow(262_144, 265_392),
  },
  {
    from: 'Ollama, its runner through a 500',
    status: 500,
    body: { error: 'the input length exceeds the context length' },
    is: overflow(),
  },
  {
    from: 'llama.cpp server, server-context.cpp',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'the request exceeds the available context size, try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 13_392,
        n_ctx: 8_192,
      },
    },
    is: overflow(8_192, 13_392),
  },
  {
    from: 'llama.cpp server, newer wording',
    status: 400,
    body: 'request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it',
    is: overflow(8_192, 9_412),
  },
  {
    from: 'llama.cpp server, in the middle of a stream',
    body: { error: { code: 500, message: 'Context size has been exceeded.', type: 'server_error' } },
    is: overflow(),
  },
  {
    from: 'LM Studio',
    status: 400,
    body: {
      error:
        'Trying to keep the first 4000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input',
    },
    is: overflow(4_096, 4_000),
  },
  {
    from: 'LM Studio, older',
    status: 400,
    body: 'The number of tokens to keep from the initial prompt is greater than the context length (n_ctx: 8192)',
    is: overflow(8_192),
  },
  {
    from: 'ds4',
    status: 400,
    body: 'Prompt has 150,000 tokens, but the configured context size is 128,000 tokens',
    is: overflow(128_000, 150_000),
  },
]
