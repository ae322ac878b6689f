import type { RefusalKind } from './classify.ts'

/**
 * How providers say that they will not serve a request because of its size or its rate. Looked through from top to bottom, the first that
 * is found decides: what is certain stands before what is likely. Samples with their sources: test/support/refusal-samples.
 */
export const PHRASES: readonly { readonly kind: RefusalKind; readonly pattern: RegExp }[] = [
  // Codes and types that mean nothing else.
  {
    kind: 'context-overflow',
    pattern:
      /\b(?:context_length_exceeded|(?:model_)?context_window_exceeded|model_max_prompt_tokens_exceeded|exceed_context_size_error|ContextWindowExceededError)\b/i,
  },
  // Rates, of tokens too, often with a limit and a size in the same sentence.
  {
    kind: 'rate-limit',
    pattern:
      /rate[ _-]?limit|rate increased too quickly|too many requests|throttl|\bquota\b|tokens?[ _-]per[ _-](?:min|minute|hour|day)\b|\b[IO]?TPM\b|please wait before|try again in \d/i,
  },
  // The reply alone is more than the model writes.
  {
    kind: 'output-limit',
    pattern:
      /maximum allowed number of output tokens|supports at most [\d,]+ (?:completion|output) tokens|range of `?max_(?:completion_|output_)?tokens`? (?:is|should be)|maximum output tokens|maxOutputTokens value|maximum tokens you requested exceeds the model limit|max_(?:completion_)?tokens`? must be less than or equal to/i,
  },
  // Bytes and characters.
  {
    kind: 'request-bytes',
    pattern:
      /request_too_large|maximum allowed number of bytes|(?:entity|payload|body|content) (?:is )?too large|request exceeds the maximum size|payload size exceeds|exceeds \d+ ?MB\b|too many total text bytes|string too long|string_above_max_length|message larger than max/i,
  },
  // Anthropic, Vertex, Ollama, Fireworks, Bedrock, GLM.
  {
    kind: 'context-overflow',
    pattern:
      /prompt (?:is )?too long|inputs? (?:is |length )?too long|prompt exceeds (?:the )?max|exceed(?:s|ed)? (?:the )?context (?:limit|length|window|size)|conversation is too long/i,
  },
  // OpenAI and those that speak as it does: Azure, vLLM, SGLang, DeepSeek, OpenRouter, Together, LiteLLM.
  {
    kind: 'context-overflow',
    pattern:
      /maximum (?:context|model|prompt|allowed input) length|longer than the (?:model'?s |maximum )(?:context|model) length|too long to fit into the model|(?:exceeds|larger than) the model'?s (?:maximum )?context|tokens exceed the configured limit|reduce the length of (?:the )?(?:messages|prompt|either)/i,
  },
  // Google, xAI, Copilot, Moonshot, DashScope, MiniMax, Mistral, Cohere, TGI, Volcengine.
  {
    kind: 'context-overflow',
    pattern:
      /input token count|token count of [\d,]+ exceeds|exceeded model token limit|range of input length should be|context window exceeds limit|too large for model with|size limit exceeded by [\d,]+ tokens|number of tokens must be at most|`inputs` (?:must have less than|tokens \+)|exceed max message tokens|tokens in request more than max/i,
  },
  // llama.cpp, LM Studio, ds4, and what says no more than that.
  {
    kind: 'context-overflow',
    pattern:
      /available context size|context size has been exceeded|greater than the context length|context length of only|configured context size|context (?:length|window) (?:is |was )?exceeded|token limit exceeded|too many (?:input )?tokens|超出最大长度|超过最大长度/i,
  },
]

/** Each `#` is a number, with or without a bracket before it. */
const places = (patterns: readonly RegExp[]): readonly RegExp[] =>
  patterns.map(({ source }) => new RegExp(source.replace('#', String.raw`\(?(\d[\d,_]*)`), 'i'))

/** Where the numbers stand, the surest place first. */
export const WINDOW_PLACES = places([
  /exceed context limit: [\d,]+ \+ [\d,]+ > #/,
  /n_ctx[\\":\s]+#/,
  /maximum (?:context|prompt|model) length(?: is| of|:)? #/,
  /# maximum context length/,
  /> # maximum/,
  /context (?:length|size|window|limit)(?: is| of)?(?: only)? #/,
  /number of tokens allowed #/,
  /(?:maximum allowed input length|configured limit|exceeds the limit) of #/,
  /model token limit: #/,
  /input length should be \[\d+, ?#/,
  /must (?:have less than|be <=|be at most) #/,
])
export const REQUEST_PLACES = places([
  /exceed context limit: # \+/,
  /n_prompt_tokens[\\":\s]+#/,
  /too long: #/,
  /# in (?:the messages|your prompt)/,
  /# of text input/,
  /resulted in # tokens/,
  /(?:contains|has)(?: at least)? # (?:input )?tokens/,
  /token count(?: of)? #/,
  /(?:request|input|prompt) #(?: tokens\))/,
  /(?:input length|\(length|\(total length) #/,
  /requested: #/,
  /Given: #/,
  /first # tokens/,
  /requested (?:about )?# tokens/,
])
export const REPLY_PLACES = places([
  /exceed context limit: [\d,]+ \+ # >/,
  /# (?:in|for) the (?:completion|output)/,
  /requested # output tokens/,
  /is too large: #/,
  /max_tokens: # >/,
  /# `max_new_tokens`/,
])
