import { z } from 'zod'
import type { ActivityTool, ToolRules } from '../../shared/ports/tool.ts'

export interface ActivityToolOptions extends ToolRules {
  readonly name: string
  /** Default: names the activity. */
  readonly description?: string
  /** Its type, as its worker registers it. It is called with the input and an `ActivityToolContext`, and returns text, a `ToolOutput`, or anything that is JSON. */
  readonly activity: string
  /** Of the workers that have it. Default: the session's own. */
  readonly taskQueue?: string
  /** A zod object, or a JSON Schema. */
  readonly inputSchema: z.ZodType | Readonly<Record<string, unknown>>
  /** How long a call waits for a worker before the model is told that it was not run. Default 300,000. */
  readonly queueTimeoutMs?: number
  /** For an activity that beats: a cancel reaches it, and the death of its worker is noticed after this long. Default: neither. */
  readonly heartbeatTimeoutMs?: number
}

const DEFAULT_QUEUE_MS = 300_000
/** A worker that dies is no failure of the work. */
const DEFAULT_RETRIES = 2

/**
 * A tool whose work is an activity of one's own. The session's workflow runs it, so that it has the activity's own retries, page and cancel: once, unless it is
 * `idempotent`, then up to `1 + retries` times (default 3). Its input (64 KiB at most) and its result stand in the history of the workflow; of the result
 * 128 KiB are kept, and one above Temporal's 2 MiB is lost.
 */
export function activityTool(options: ActivityToolOptions): ActivityTool {
  const { name, activity: type, taskQueue, inputSchema, heartbeatTimeoutMs, idempotent, timeoutMs } = options
  return {
    name,
    description: options.description ?? `Runs the activity ${type}.`,
    input: inputSchema instanceof z.ZodType ? inputSchema : { jsonSchema: inputSchema },
    ...(idempotent === true ? { idempotent, retries: options.retries ?? DEFAULT_RETRIES } : {}),
    ...(idempotent !== true && options.retries !== undefined ? { retries: options.retries } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    activity: {
      type,
      queueTimeoutMs: options.queueTimeoutMs ?? DEFAULT_QUEUE_MS,
      ...(taskQueue === undefined ? {} : { taskQueue }),
      ...(heartbeatTimeoutMs === undefined ? {} : { heartbeatTimeoutMs }),
    },
  }
}
