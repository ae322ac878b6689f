import { z } from 'zod'
import { COMPACT_TOOL } from '../../shared/compaction/compact-tool.ts'
import type { ActivityTool, AnyTool } from '../../shared/ports/tool.ts'
import { HISTORY_TOOL } from '../../shared/recall/history-tool.ts'

/** As the Anthropic API takes them. */
const NAME_PATTERN = /^[A-Za-z0-9_-]{1,128}$/

/** Why a worker cannot offer these tools, in one sentence, or undefined. Found when the worker starts, not when a session does. */
export function toolProblem(tools: readonly AnyTool[]): string | undefined {
  const seen = new Set<string>()
  for (const tool of tools) {
    const problem = nameProblem(tool, seen) ?? schemaProblem(tool) ?? rulesProblem(tool)
    if (problem !== undefined) return problem
    seen.add(tool.name)
  }
  return undefined
}

function nameProblem({ name }: AnyTool, seen: ReadonlySet<string>): string | undefined {
  if (!NAME_PATTERN.test(name))
    return `A tool's name has 1 to 128 characters of A-Z a-z 0-9 _ -, got ${JSON.stringify(name)}.`
  if (name === COMPACT_TOOL.name || name === HISTORY_TOOL.name)
    return `The tool "${name}" is the session's own: give yours another name. The policy's ${name}Tool says whether the model is offered it.`
  return seen.has(name) ? `There are two tools ${JSON.stringify(name)}: rename or remove one.` : undefined
}

function schemaProblem(tool: AnyTool): string | undefined {
  try {
    const { type } = inputSchemaOf(tool)
    return type === 'object'
      ? undefined
      : `The input of tool ${tool.name} must be an object, got ${JSON.stringify(type) ?? 'a schema without a type'}.`
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return `The input of tool ${tool.name} has no JSON Schema (${reason}): use types that JSON has, or give jsonSchema.`
  }
}

const MOST_TIMEOUT_MS = 24 * 60 * 60_000
const MOST_RETRIES = 10

function rulesProblem(tool: AnyTool): string | undefined {
  const { name, timeoutMs, idempotent, retries = 0 } = tool
  const { type, taskQueue, queueTimeoutMs, heartbeatTimeoutMs } =
    'activity' in tool ? tool.activity : ({ type: 'none' } as Partial<ActivityTool['activity']>)
  if (!type || taskQueue === '') return `Tool ${name} must name its activity, and a task queue or none.`
  for (const [setting, ms] of Object.entries({ timeoutMs, queueTimeoutMs, heartbeatTimeoutMs })) {
    if (ms !== undefined && (!Number.isInteger(ms) || ms < 1 || ms > MOST_TIMEOUT_MS))
      return `${setting} of tool ${name} must be a whole number from 1 to ${MOST_TIMEOUT_MS}, got ${ms}.`
  }
  if (!Number.isInteger(retries) || retries < 0 || retries > MOST_RETRIES)
    return `retries of tool ${name} must be a whole number from 0 to ${MOST_RETRIES}, got ${retries}.`
  return retries > 0 && idempotent !== true
    ? `Tool ${name} has retries and is not idempotent: a call that failed may have done its work, so only a tool that says \`idempotent: true\` is run again.`
    : undefined
}

/** The JSON Schema that the model is given. */
export function inputSchemaOf({ input }: AnyTool): Record<string, unknown> {
  if ('jsonSchema' in input) return { ...input.jsonSchema }
  return z.toJSONSchema(input, { io: 'input' }) as Record<string, unknown>
}
