import type { z } from 'zod'
import type { Tool, ToolContext, ToolOutput, ToolRules } from './ports/tool.ts'

/**
 * A tool whose `run` gets what its zod schema gives, typed: `defineTool({ name, description, input: z.object({ order: z.string() }), run: async ({ order }) => … })`.
 * The model's input is checked by the schema before `run`; a bad one becomes an error result that the model reads.
 */
export const defineTool = <Input extends z.ZodType>(
  tool: ToolRules & {
    readonly name: string
    readonly description: string
    readonly input: Input
    run(input: z.output<Input>, context: ToolContext): Promise<ToolOutput | string>
  },
): Tool => tool as Tool
