import { z } from 'zod'
import type { Tool, ToolContext } from '../shared/ports/tool.ts'
import { type ContentBlock, type ToolUseBlock, text } from '../shared/session/content.ts'
import { wellFormed } from '../shared/session/well-formed.ts'

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
    const output = await untilAborted(tool.run(parsedInput(tool, call.input), { ...context, signal }), signal)
    if (typeof output === 'string') return { content: contentOf(output), isError: false }
    return { content: contentOf(output.content), isError: output.isError ?? false }
  } catch (error) {
    if (context.signal.aborted) throw error
    if (timeout.aborted)
      return errorResult(`${tool.name} did not answer within ${timeoutMs} ms and was stopped.`)
    return errorResult(`${tool.name} failed: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** A tool that ignores its signal must not hold the activity: its late answer is dropped. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

function contentOf(output: string | readonly ContentBlock[]): readonly ContentBlock[] {
  const blocks = wellFormed(typeof output === 'string' ? [text(output)] : output)
  const kept = blocks.filter((block) => block.type !== 'text' || block['text'] !== '')
  return kept.length === 0 ? [text('(no output)')] : kept
}

function inputProblem(tool: Tool, input: unknown): string | undefined {
  if (!(tool.input instanceof z.ZodType)) return undefined
  const parsed = tool.input.safeParse(input)
  return parsed.success
    ? undefined
    : `The input of ${tool.name} is not valid: ${z.prettifyError(parsed.error)}`
}

const parsedInput = (tool: Tool, input: unknown): unknown =>
  tool.input instanceof z.ZodType ? tool.input.parse(input) : input
