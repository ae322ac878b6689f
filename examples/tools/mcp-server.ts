// An MCP server with one tool, for mcp.ts.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const server = new McpServer({ name: 'weather', version: '1.0.0' })
server.registerTool(
  'weather',
  { description: 'The weather of a city.', inputSchema: { city: z.string() } },
  async ({ city }) => ({
    content: [{ type: 'text', text: `${city}, station ${process.env['STATION']}: 4 degrees` }],
  }),
)
await server.connect(new StdioServerTransport())
