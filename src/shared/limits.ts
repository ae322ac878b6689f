/**
 * Limits at the door. Each is enforced with a typed error that carries both numbers.
 * Sizes in bytes are of UTF-8.
 */
export const LIMITS = {
  /** Text of one prompt. */
  promptTextBytes: 1024 * 1024,
  /** All base64 data of one prompt's images and documents, decoded. */
  promptMediaBytes: 20 * 1024 * 1024,
  /** A prompt or request that travels inline through Temporal, for clients without a store. */
  inlineBytes: 256 * 1024,
  /** What a session is started with: system prompt, policy, sampling. Below the server's 2 MiB for one payload. */
  startBytes: 1024 * 1024,
  /** Body of one request to a model, where its client names no other limit: that of the Anthropic API. */
  requestBytes: 32_000_000,
  /** Kept output of one tool call; what is beyond is counted, not kept. */
  toolOutputBytes: 16 * 1024 * 1024,
  /** JSON bytes of a call's input that is handed to an activity of the user's own: it stands in history, and all that run at once in one command of at most 4 MB. */
  handedInputBytes: 64 * 1024,
  /** JSON bytes that are kept of such an activity's result. */
  handedOutputBytes: 128 * 1024,
  /** Bytes of history above which a step hands out no more calls: the server ends a run at 50 MiB, and sixteen results of 2 MiB may be under way. */
  handedHistoryBytes: 8 * 1024 * 1024,
  /** Tool calls of one step that run; the others get an error result. */
  callsPerStep: 128,
  /** Replies in a row that pause for the provider's own tools; each is a paid request. */
  pausesInARow: 16,
  /** Tool activities of one step at the same time. */
  parallelCalls: 16,
  /** Prompts that wait in one session's inbox. */
  waitingPrompts: 100,
  /** Tokens, by our counter, of the messages that one `afterCompaction` may give together. */
  hookMessageTokens: 4_000,
  /** Time of one call of a hook, in milliseconds: within one attempt of a store activity. */
  hookMs: 20_000,
  /** Characters of a focus. */
  focusChars: 800,
  /** Messages (signals and updates) after which a run continues as new. */
  messagesPerRun: 1000,
  /** History events after which a run continues as new, below the server's own suggestion at 4,096. */
  eventsPerRun: 4000,
  /** Compaction records that the workflow keeps for its query. */
  historyRecords: 20,
  /** JSON bytes of the state carried by continue-as-new. */
  carriedBytes: 16 * 1024,
} as const

/** Session ids: also the workflow id of an `agentSession`, so that a child's id stays below 255. */
export const SESSION_ID_PATTERN = /^[A-Za-z0-9._-]{1,64}$/

/** Ids from callers and models that may stand in an event key as they are; others stand as their hash. */
export const KEY_PART_PATTERN = /^[A-Za-z0-9_-]{1,64}$/
