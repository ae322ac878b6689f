import { z } from 'zod'
import type { AnyTool, Tool, ToolContext, ToolOutput, ToolRules } from '../shared/ports/tool.ts'
import {
  asUserBlock,
  type ContentBlock,
  contentSchema,
  isText,
  type ToolUseBlock,
  text,
} from '../shared/session/content.ts'
import { wellFormed } from '../shared/session/well-formed.ts'
import { untilAborted } from './until-aborted.ts'

export interface ExecutedCall {
  readonly content: readonly ContentBlock[]
  readonly isError: boolean
  /** It threw or ran out of time: what another attempt may heal. */
  readonly failed?: true
}

export const errorResult = (said: string): ExecutedCall => ({ content: [text(said)], isError: true })

const DEFAULT_TIMEOUT_MS = 120_000

export const timeoutOf = ({ timeoutMs }: ToolRules): number => timeoutMs ?? DEFAULT_TIMEOUT_MS

/** Runs a tool on a checked input, within its time. Every failure but the caller's cancel becomes an error result. */
export async function executeTool(
  tool: Tool,
  call: ToolUseBlock,
  context: ToolContext,
): Promise<ExecutedCall> {
  const input = checkedInput(tool, call.input)
  if ('problem' in input) return errorResult(input.problem)
  const timeoutMs = timeoutOf(tool)
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([context.signal, timeout])
  try {
    return executed(await untilAborted(tool.run(input.value, { ...context, signal }), signal))
  } catch (error) {
    if (context.signal.aborted) throw error
    const said = timeout.aborted
      ? `${tool.name} did not answer within ${timeoutMs} ms and was stopped.`
      : `${tool.name} failed: ${messageOf(error)}`
    return { ...errorResult(said), failed: true }
  }
}

/** @throws for what is no output of a tool. A block that no result can hold would spoil every later request: it becomes its JSON. */
export function executed(output: ToolOutput | string): ExecutedCall {
  const { content, isError = false } = typeof output === 'string' ? { content: output } : output
  const blocks = wellFormed(typeof content === 'string' ? [text(content)] : contentSchema.parse(content))
  const kept = blocks.filter((block) => !isText(block) || block.text !== '').map(asUserBlock)
  return { content: kept.length === 0 ? [text('(no output)')] : kept, isError: isError === true }
}

/** What the tool gets, or why it does not run. */
export function checkedInput(
  { name, input: expected }: AnyTool,
  input: unknown,
): { readonly value: unknown } | { readonly problem: string } {
  const parse = expected instanceof z.ZodType ? expected.parse.bind(expected) : expected.parse?.bind(expected)
  try {
    return { value: parse === undefined ? input : parse(input) }
  } catch (error) {
    return { problem: `The input of ${name} is not valid: ${problemsOf(error)}` }
  }
}

/** Every copy of zod gives its errors as a list of `issues`. */
const problemsOf = (error: unknown): string =>
  error instanceof Error && 'issues' in error && Array.isArray(error.issues)
    ? z.prettifyError({ issues: error.issues })
    : messageOf(error)

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
