import type { ActivityTool, AnyTool, Tool } from '../../shared/ports/tool.ts'
import { isRunnable, type RunnableTool, runnableTool } from './runnable-tool.ts'

/** What `tools` of a worker may hold. `undefined` tells the kinds apart, so that the parameters of a literal need no types. */
export type WorkerTool =
  | (Tool & { readonly parse?: undefined; readonly activity?: undefined; close?(): unknown })
  | RunnableTool
  | (ActivityTool & { readonly parse?: undefined })

export interface Toolbox {
  readonly tools: readonly AnyTool[]
  /** Releases what the tools hold, each once; for the end of the worker. One that fails does not stop the others. */
  close(): Promise<void>
}

/** @throws SessionError `InvalidInput` for a tool that no session can define */
export function openToolbox(given: readonly WorkerTool[]): Toolbox {
  const tools = given.map((tool) => (isRunnable(tool) ? runnableTool(tool) : tool))
  let closed: Promise<unknown> | undefined
  const closeAll = () => Promise.allSettled(given.map(async (tool) => 'close' in tool && tool.close?.()))
  return {
    tools,
    async close() {
      closed ??= closeAll()
      await closed
    },
  }
}
