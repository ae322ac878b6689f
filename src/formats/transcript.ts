import type { ContentBlock } from '../shared/session/content.ts'
import type { Usage } from '../shared/session/events.ts'

export const TRANSCRIPT_FORMATS = [
  'claude-code',
  'codex',
  'pi',
  'dsh',
  'mini-swe-agent',
  'swe-agent',
  'anthropic',
] as const
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number]

/** Where a message stands in the file: `line` counts from 1. In a format that is one JSON document it is the message's number. */
export interface MessageOrigin {
  readonly line: number
  /** The record's own id, where the format has one. */
  readonly id?: string
}

/**
 * One message of the conversation. A reply is one message with all its blocks; every tool result is a user message of
 * its own with exactly one `tool_result` block, and stands directly behind its reply.
 */
export interface ReadMessage {
  readonly role: 'user' | 'assistant'
  readonly content: readonly ContentBlock[]
  /** `prompt`: somebody's words. `context`: text that a harness put in. `import`: replies and tool results. */
  readonly source: 'prompt' | 'context' | 'import'
  readonly model?: string
  /** In the words of the format. */
  readonly stopReason?: string
  /** As recorded, for information only: never the size of a request that we build. */
  readonly usage?: Usage
  readonly origin: MessageOrigin
}

export interface ReadTool {
  readonly name: string
  readonly description?: string
  readonly input_schema?: Readonly<Record<string, unknown>>
}

/** What became of the records of one type: `taken + merged + leftOut` is their number. */
export interface RecordCounts {
  /** Begins a message of the conversation, or gave its system text or tools. */
  readonly taken: number
  /** Its content went into the message of another record, or repeats one. */
  readonly merged: number
  readonly leftOut: number
  /** Number of merged and left-out records by reason. */
  readonly reasons: Readonly<Record<string, number>>
}

export interface RecordedCompaction {
  readonly line: number
  /** Number of messages of the conversation that precede it. */
  readonly atMessage: number
  readonly summary?: string
  readonly tokensBefore?: number
}

/** A conversation of a sub-agent, left out. */
export interface SideChain {
  /** Its first record. */
  readonly line: number
  readonly records: number
  readonly agentId?: string
}

/** Something smaller than a record that is not as it was recorded. */
export interface ReadChange {
  readonly line: number
  readonly kind:
    | 'block-left-out'
    | 'cache-mark-removed'
    | 'call-renamed'
    | 'tool-renamed'
    | 'input-wrapped'
    | 'replies-merged'
    | 'result-moved'
  readonly detail: string
}

/** Everything that the reader did. Nothing of a file is dropped without a line here. */
export interface ReadReport {
  /** Records looked at: lines that are not blank, or the messages of a document. The counts of `records` add up to it. */
  readonly lines: number
  /** By record type, `/` before a sub-type. `(broken line)` and `(comment)` are types too. */
  readonly records: Readonly<Record<string, RecordCounts>>
  readonly brokenLines: readonly { readonly line: number; readonly problem: string }[]
  readonly sideChains: readonly SideChain[]
  readonly compactions: readonly RecordedCompaction[]
  /** Calls without a recorded result. They stay in the conversation. */
  readonly unansweredCalls: readonly {
    readonly line: number
    readonly callId: string
    readonly name: string
  }[]
  /** Records that repeat one that was already taken, for example in a resumed session. */
  readonly duplicateMessages: number
  readonly changes: readonly ReadChange[]
}

export interface ReadTranscript {
  readonly format: TranscriptFormat
  readonly system?: string
  /** The declared tools, then the called ones that no record declares, by name only. */
  readonly tools: readonly ReadTool[]
  readonly messages: readonly ReadMessage[]
  readonly report: ReadReport
}

/** Returns what is wrong with the sums of a report, or undefined. */
export function accountingProblem(report: ReadReport): string | undefined {
  let sum = 0
  for (const [type, counts] of Object.entries(report.records)) {
    const reasons = Object.values(counts.reasons).reduce((total, count) => total + count, 0)
    if (reasons !== counts.merged + counts.leftOut)
      return `records of type ${type}: ${counts.merged} merged and ${counts.leftOut} left out, but ${reasons} reasons`
    sum += counts.taken + counts.merged + counts.leftOut
  }
  return sum === report.lines ? undefined : `${report.lines} lines, but ${sum} records accounted for`
}
