// The tools of MCP servers: of one that the worker starts, and in the same way of one behind a URL.
import { fileURLToPath } from 'node:url'
import { mcpTools } from 'durable-compaction/worker'
import { ask } from './ask.ts'

const tools = await mcpTools({
  city: {
    command: process.execPath,
    args: ['--import', 'tsx', fileURLToPath(new URL('./mcp-server.ts', import.meta.url))],
    env: { STATION: 'north' }, // Nothing else of the worker's environment reaches it but PATH, HOME and the like.
    connectTimeoutMs: 60_000, // It is compiled when it starts.
    tools: ['weather'], // Only these; default: all.
    rules: { weather: { timeoutMs: 30_000, idempotent: true, retries: 2 } },
  },
  // docs: { url: 'https://docs.example.com/mcp', headers: { authorization: `Bearer ${process.env.DOCS_KEY}` } },
})

await ask(tools, { name: 'city__weather', input: { city: 'Oslo' } })
