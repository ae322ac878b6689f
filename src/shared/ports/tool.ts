import type { z } from 'zod'
import type { ContentBlock } from '../session/content.ts'

export interface ToolContext {
  readonly sessionId: string
  readonly callId: string
  /** Names this call alone, for ever: the same in each attempt, never that of another call. Give it to services that take such a key. */
  readonly idempotencyKey: string
  /** Aborts on cancel and at the tool's time-out. */
  readonly signal: AbortSignal
}

export interface ToolOutput {
  readonly content: string | readonly ContentBlock[]
  readonly isError?: boolean
}

/** What the model is told of its input. */
export type ToolInput =
  /** A zod object; its JSON Schema goes to the model. */
  | z.ZodType
  /** A JSON Schema as it is. `parse` checks an input and may convert it; it throws for a bad one. Without it every input is taken. */
  | { readonly jsonSchema: Readonly<Record<string, unknown>>; parse?(input: unknown): unknown }

/** How a call of a tool is run. */
export interface ToolRules {
  /** True: an attempt that finds the claim of a dead worker runs it again. Default false: it answers `outcome unknown`. */
  readonly idempotent?: boolean
  /** Of one attempt. Default 120,000, most 86,400,000. */
  readonly timeoutMs?: number
  /** How often a call that throws or runs out of time is run again, after 1, 2, 4, … s; most 10, only for idempotent tools. A result with `isError` is an answer. Default 0. */
  readonly retries?: number
}

interface DefinedTool extends ToolRules {
  readonly name: string
  readonly description: string
  readonly input: ToolInput
}

/** A tool that the model can call. An exception becomes an error result that the model reads. */
export interface Tool extends DefinedTool {
  run(input: unknown, context: ToolContext): Promise<ToolOutput | string>
}

/** A tool whose work is an activity of the user's own, which the session's workflow runs. */
export interface ActivityTool extends DefinedTool {
  readonly activity: {
    readonly type: string
    /** Default: the session's own. */
    readonly taskQueue?: string
    /** How long the call waits for a worker. */
    readonly queueTimeoutMs: number
    readonly heartbeatTimeoutMs?: number
  }
}

/** What the activity of an {@link ActivityTool} gets beside the input. */
export type ActivityToolContext = Pick<ToolContext, 'sessionId' | 'callId' | 'idempotencyKey'>

export type AnyTool = Tool | ActivityTool
