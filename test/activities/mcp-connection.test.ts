import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { mcpTools } from '../../src/worker/index.ts'
import { eventually } from '../support/eventually.ts'

// A server behind a URL that refuses one call while another waits for its answer.

interface Asked {
  readonly id: unknown
  readonly method: string
  readonly params: { readonly name?: string; readonly protocolVersion?: string }
}
const TOOLS = ['slow', 'bad'].map((name) => ({ name, inputSchema: { type: 'object' } }))

async function opened(refuse: (response: ServerResponse, nth: number) => boolean) {
  const calls: string[] = []
  const waiting: (() => void)[] = []
  let sessions = 0
  const answer = (response: ServerResponse, { id }: Asked, result: object, headers: object = {}) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  }
  const said = (value: string) => ({ content: [{ type: 'text', text: value }] })
  const server = createServer(async (request: IncomingMessage, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const asked = JSON.parse(await text(request)) as Asked
    const { method, params } = asked
    if (method === 'initialize') {
      const { protocolVersion } = params
      const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }
      return answer(response, asked, result, { 'mcp-session-id': `s${++sessions}` })
    }
    if (method === 'tools/list') return answer(response, asked, { tools: TOOLS })
    if (method !== 'tools/call') return void response.writeHead(202).end()
    const { name = '' } = params
    calls.push(`${name} in ${request.headers['mcp-session-id']}`)
    if (name === 'slow') return void waiting.push(() => answer(response, asked, said('slow ok')))
    if (!refuse(response, calls.filter((call) => call.startsWith('bad')).length))
      answer(response, asked, said('bad ok'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const tools = await mcpTools({ m: { url: `http://127.0.0.1:${port}/mcp` } })
  const { signal } = new AbortController()
  const run = async (name: string) => {
    const tool = tools.find((one) => one.name === `m__${name}`) ?? assert.fail(name)
    return tool.run({}, { sessionId: 's', callId: name, idempotencyKey: name, signal })
  }
  const slow = run('slow')
  slow.catch(() => undefined)
  await eventually(
    () => waiting.length,
    (length) => length === 1,
  )
  return {
    calls,
    bad: () => run('bad'),
    /** What the call that waits is told in the end. */
    async slow() {
      for (const go of waiting) go()
      return (await slow) as unknown
    },
    async close() {
      await Promise.all(tools.map((tool) => tool.close()))
      server.closeAllConnections()
      server.close()
    },
  }
}
const ok = (value: string) => ({ content: [{ type: 'text', text: value }], isError: false })

test('status 400 is the answer to a call: it is sent once, and a call beside it goes on', async () => {
  const server = await opened((response) => {
    response.writeHead(400).end('bad arguments')
    return true
  })
  try {
    await assert.rejects(server.bad(), /bad arguments/)
    assert.deepEqual(await server.slow(), ok('slow ok'))
    assert.deepEqual(server.calls, ['slow in s1', 'bad in s1'])
  } finally {
    await server.close()
  }
})

for (const [status, why] of [
  [404, 'Session not found'],
  [400, 'Bad Request: No valid session ID provided'],
  [400, 'Bad Request: Server not initialized'],
] as const)
  test(`status ${status}, ${why}: the call is sent again in a new session, and a call beside it goes on`, async () => {
    const server = await opened((response, nth) => {
      if (nth === 1) response.writeHead(status).end(why)
      return nth === 1
    })
    try {
      assert.deepEqual(await server.bad(), ok('bad ok'))
      assert.deepEqual(await server.slow(), ok('slow ok'))
      assert.deepEqual(server.calls, ['slow in s1', 'bad in s1', 'bad in s2'])
    } finally {
      await server.close()
    }
  })
