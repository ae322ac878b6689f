import { z } from 'zod'
import type { Tool, ToolContext, ToolOutput } from '../shared/ports/tool.ts'
import {
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
}

export const errorResult = (said: string): ExecutedCall => ({ content: [text(said)], isError: true })

const DEFAULT_TIMEOUT_MS = 120_000

/** Runs a tool on a checked input, within its time. Every failure but the caller's cancel becomes an error result. */
export async function executeTool(
  tool: Tool,
  call: ToolUseBlock,
  context: ToolContext,
): Promise<ExecutedCall> {
  const problem = inputProblem(tool, call.input)
  if (problem !== undefined) return errorResult(problem)
  const timeoutMs = tool.timeoutMs ?? DEFAULT_TIMEOUT_MS
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([context.signal, timeout])
  try {
    return executed(
      await untilAborted(tool.run(parsedInput(tool, call.input), { ...context, signal }), signal),
    )
  } catch (error) {
    if (context.signal.aborted) throw error
    if (timeout.aborted)
      return errorResult(`${tool.name} did not answer within ${timeoutMs} ms and was stopped.`)
    return errorResult(`${tool.name} failed: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** @throws for what is no output of a tool: written, it would spoil every later request. */
function executed(output: ToolOutput | string): ExecutedCall {
  const { content, isError = false } = typeof output === 'string' ? { content: output } : output
  const blocks = wellFormed(typeof content === 'string' ? [text(content)] : contentSchema.parse(content))
  const stray = blocks.find((block) => (block.type === 'text' ? !isText(block) : FORBIDDEN.test(block.type)))
  if (stray !== undefined)
    throw new TypeError(`it returned a block of type ${stray.type} that no result can hold`)
  const kept = blocks.filter((block) => !isText(block) || block.text !== '')
  return { content: kept.length === 0 ? [text('(no output)')] : kept, isError: isError === true }
}

/** Blocks of an assistant's message, and results in a result. */
const FORBIDDEN = /tool_(use|result)$|^(redacted_)?thinking$/

function inputProblem(tool: Tool, input: unknown): string | undefined {
  if (!(tool.input instanceof z.ZodType)) return undefined
  const parsed = tool.input.safeParse(input)
  return parsed.success
    ? undefined
    : `The input of ${tool.name} is not valid: ${z.prettifyError(parsed.error)}`
}

const parsedInput = (tool: Tool, input: unknown): unknown =>
  tool.input instanceof z.ZodType ? tool.input.parse(input) : input
