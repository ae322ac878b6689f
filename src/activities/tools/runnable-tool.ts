import { SessionError } from '../../shared/errors.ts'
import type { Tool, ToolOutput, ToolRules } from '../../shared/ports/tool.ts'
import { type ContentBlock, contentSchema, type ToolUseBlock } from '../../shared/session/content.ts'

/**
 * A runnable tool of the Anthropic SDK as it is: what `betaZodTool` and `betaTool` give. It runs under {@link ToolRules} like any other, which may stand beside its
 * own fields: `{...betaZodTool(…), idempotent: true, timeoutMs: 5_000}`. The SDK is not needed for it.
 */
export interface RunnableTool extends ToolRules {
  readonly name: string
  readonly description?: string
  /** Tools with a `type` of the provider's own, such as `bash_20250124`, are refused: sessions define their tools by a schema. */
  readonly type?: string | null
  readonly input_schema?: object
  parse(content: unknown): unknown
  run(
    args: unknown,
    context?: { toolUse: ToolUseBlock; toolUseBlock: ToolUseBlock; signal?: AbortSignal },
  ): string | readonly object[] | Promise<string | readonly object[]>
  /** Called once when the worker has ended. */
  close?(): unknown
}

export const isRunnable = (tool: object): tool is RunnableTool => 'parse' in tool && 'run' in tool

/** @throws SessionError `InvalidInput` for a type of the provider's own */
export function runnableTool(tool: RunnableTool): Tool {
  const { name, description = '', idempotent, timeoutMs, retries } = tool
  if (tool.type !== undefined && tool.type !== null && tool.type !== 'custom')
    throw new SessionError(
      'InvalidInput',
      `Tool ${JSON.stringify(name)} has the type ${JSON.stringify(tool.type)}, which only the provider defines; sessions take tools with a schema of their own: make it with betaZodTool or betaTool.`,
    )
  return {
    name,
    description,
    input: { jsonSchema: { ...tool.input_schema }, parse: (input: unknown) => tool.parse(input) },
    ...(idempotent === undefined ? {} : { idempotent }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(retries === undefined ? {} : { retries }),
    async run(input, { callId, signal }): Promise<ToolOutput> {
      const toolUse: ToolUseBlock = { type: 'tool_use', id: callId, name, input }
      try {
        return { content: outputOf(await tool.run(input, { toolUse, toolUseBlock: toolUse, signal })) }
      } catch (error) {
        if (isToolError(error)) return { content: error.content, isError: true }
        throw error
      }
    },
  }
}

const outputOf = (output: unknown): string | ContentBlock[] =>
  typeof output === 'string' ? output : contentSchema.parse(output)

/** The SDK's `ToolError`: an answer, not a failure. By its shape, since a tool may bring a copy of the SDK of its own. */
const isToolError = (error: unknown): error is Error & { content: ToolOutput['content'] } =>
  error instanceof Error && error.name === 'ToolError' && 'content' in error
