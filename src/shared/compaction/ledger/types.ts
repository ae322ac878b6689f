/**
 * Shapes of the ledger: the part of a checkpoint that code writes. Everything here is plain data; nothing reads a clock
 * and nothing counts tokens by itself (`CountTokens` is passed in).
 */

/** Tokens of a text. Called about 30 times per ledger, mostly with texts of the size of a budget. */
export type CountTokens = (text: string) => number

/** Any Anthropic content block. Types that the ledger does not know are ignored. */
export interface LedgerBlock {
  readonly type: string
}

/** One message of the conversation, oldest first. */
export interface LedgerMessage {
  readonly role: 'user' | 'assistant'
  readonly blocks: readonly LedgerBlock[]
  /**
   * Who wrote a user message: `prompt`, `import` or nothing is the user; `context` and `notice` are injected; every other
   * value is an earlier checkpoint. Ignored for the assistant.
   */
  readonly source?: string
  /** The event that it comes from; the user's words cite it. */
  readonly seq?: number | undefined
}

/**
 * What an item is: `file` is a file name without its folder, `line` a whole shell command, `command` its program and
 * subcommand, `error` an error code.
 */
export type ItemKind =
  | 'link'
  | 'path'
  | 'directory'
  | 'file'
  | 'error'
  | 'name'
  | 'id'
  | 'value'
  | 'command'
  | 'line'

/** One thing that was mentioned, and what is known of it. `value` is an exact copy, paths below the working directory are relative. */
export interface Item {
  readonly kind: ItemKind
  readonly value: string
  /** Weighted number of blocks that held it: 1 per user text, assistant text or tool call, ¼ per tool result or injected text. */
  n: number
  /** Position of the last message that held it, counted in messages of this span; negative: before this span. */
  last: number
  /** Values: the word that stood in front of the number. */
  label?: string | undefined
  /** Names: the file that held it. */
  owner?: string | undefined
  /** The owner was edited (else only read) with this name. */
  ownerEdited?: boolean | undefined
  /** Files: how often it was edited. */
  edits?: number | undefined
  /** Files: edited after the last successful commit. */
  uncommitted?: boolean | undefined
  /** Commands: how often it ran, and whether the last run failed. */
  runs?: number | undefined
  failed?: boolean | undefined
}

/** Words of the user. `cut` tells where and how much was taken out of `text`. */
export interface UserWords {
  readonly text: string
  readonly cut?: { readonly at: number; readonly tokens: number } | undefined
  /** They stood in a tool result: the answer to a question, or the reason why a call was rejected. */
  readonly note?: 'answer' | 'rejection' | undefined
  /** The event that they come from. */
  readonly seq?: number | undefined
}

/** The user's words, oldest first: those of the start, a gap of `leftOut` messages, the newest ones. No gap: all are in `start`. */
export interface SaidByUser {
  readonly start: readonly UserWords[]
  readonly newest: readonly UserWords[]
  readonly leftOut: number
}

/** The agent's own task list: open items word for word. */
export interface Plan {
  readonly open: readonly { readonly text: string; readonly active: boolean }[]
  readonly done: number
  readonly lastDone?: string | undefined
}

/** A call that failed and was not repeated with success since. `last` counts like `Item.last`. */
export interface OpenError {
  readonly key: string
  readonly command: string
  readonly detail: string
  readonly last: number
}

/** A successful call of which nothing but its own line tells, and the beginning of its last result. */
export interface DoneCall {
  readonly call: string
  readonly result: string
  readonly times: number
}

/** All that is known at the end of a span: what was carried, and what the span added to it. */
export interface Known {
  readonly items: readonly Item[]
  readonly said: SaidByUser
  readonly plan: Plan | undefined
  readonly errors: readonly OpenError[]
  /** Oldest first. */
  readonly done: readonly DoneCall[]
  /** Oldest first. */
  readonly assistantTexts: readonly string[]
  readonly earlierSummary: string | undefined
}

/** Token limits of the parts. What the prose does not use goes to the lists, what the lists leave to older assistant texts. */
export interface LedgerBudget {
  readonly listTokens: number
  readonly userTokens: number
  /** Of `userTokens`: reserved for the first messages of the session. */
  readonly userStartTokens: number
  readonly planTokens: number
  readonly errorTokens: number
  readonly assistantTokens: number
  /** Whether unused `userTokens` go to the lists as well. */
  readonly userSharesTotal: boolean
}
