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

/** A tool that the model can call. An exception becomes an error result that the model reads. */
export interface Tool {
  readonly name: string
  readonly description: string
  /** A zod object; its JSON Schema goes to the model. A recorded tool gives a JSON Schema as it is. */
  readonly input: z.ZodType | { readonly jsonSchema: Readonly<Record<string, unknown>> }
  /** True: an attempt that finds a foreign claim runs it again. Default false: it answers `outcome unknown`. */
  readonly idempotent?: boolean
  /** Default 120,000. */
  readonly timeoutMs?: number
  run(input: unknown, context: ToolContext): Promise<ToolOutput | string>
}
