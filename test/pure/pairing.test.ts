import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SurfaceNode } from '../../src/shared/session/events.ts'
import {
  splitCallAt,
  toolPairingBalancedAfter,
  toolPairingBalancedBefore,
  unansweredCalls,
  unitsOf,
} from '../../src/shared/session/tool-pairing.ts'
import { surface } from './surface-builder.ts'

/** Balance at every edge: before the first node, then after each. */
const edges = (nodes: readonly SurfaceNode[]): boolean[] => [
  ...(nodes[0] === undefined ? [] : [toolPairingBalancedBefore(nodes, nodes[0].seq)]),
  ...nodes.map((node) => toolPairingBalancedAfter(nodes, node.seq)),
]

const ranges = (nodes: readonly SurfaceNode[]): string[] =>
  unitsOf(nodes).map(({ from, to }) => `${from}-${to}`)

test('a cut between plain messages is balanced', () => {
  const { nodes } = surface().user('a').reply('b').user('c')
  assert.deepEqual(edges(nodes), [true, true, true, true])
  assert.deepEqual(ranges(nodes), ['0-0', '1-1', '2-2'])
})

test('G2 parallel calls: a cut is balanced only after the last result', () => {
  const { nodes } = surface()
    .user('go')
    .reply('', ['a', 'b', 'c'])
    .result('b', '')
    .result('a', '')
    .result('c', '')
    .user('x')
  assert.deepEqual(edges(nodes), [true, true, false, false, false, true, true])
  assert.deepEqual(ranges(nodes), ['0-0', '1-4', '5-5'])
})

test('G3 a user message inside an open pair is unbalanced on both sides', () => {
  const { nodes } = surface().user('go').reply('', ['a']).user('steer', 'prompt', { seq: 50 }).result('a', '')
  assert.equal(toolPairingBalancedBefore(nodes, 50), false)
  assert.equal(toolPairingBalancedAfter(nodes, 50), false)
  assert.deepEqual(ranges(nodes), ['0-0', '1-3'])
})

test('before and after the same cut agree', () => {
  const { nodes } = surface().user('go').reply('', ['a']).result('a', '').reply('done')
  for (const [index, node] of nodes.slice(1).entries()) {
    const before = nodes[index]
    assert.ok(before)
    assert.equal(toolPairingBalancedBefore(nodes, node.seq), toolPairingBalancedAfter(nodes, before.seq))
  }
})

test('G1 a result with an unknown id is an error that names it', () => {
  const { nodes } = surface().user('go').result('ghost', '', { seq: 7 })
  assert.throws(() => toolPairingBalancedAfter(nodes, 7), {
    name: 'LogRejected',
    message: /ghost at seq 7 .*no call before it/,
  })
  assert.deepEqual(
    ranges(nodes),
    ['0-0', '1-1'],
    'units go on, so that a damaged surface can still be compacted',
  )
})

test('G1 a result that comes before its call has no call', () => {
  const { nodes } = surface().result('a', '').reply('', ['a'])
  assert.throws(() => edges(nodes), { name: 'LogRejected' })
})

test('G1 a second result of one call is an error', () => {
  const { nodes } = surface().reply('', ['a']).result('a', 'one').result('a', 'two', { seq: 9 })
  assert.throws(() => edges(nodes), { name: 'LogRejected', message: /a at seq 9 .*has a result already/ })
})

test('G1 a call id that is open twice is an error, one that comes again later is not', () => {
  assert.throws(() => edges(surface().reply('', ['a', 'a']).nodes), {
    name: 'LogRejected',
    message: /Call id a .*used again/,
  })
  const { nodes } = surface().reply('', ['a']).result('a', '').reply('', ['a']).result('a', '')
  assert.deepEqual(edges(nodes), [true, false, true, false, true])
})

test('G1 a call without a result: the newest is open to the end, an older one until the next reply', () => {
  const open = surface().user('go').reply('', ['a', 'b']).result('a', '').user('steer')
  assert.deepEqual(edges(open.nodes), [true, true, false, false, false])
  assert.deepEqual(ranges(open.nodes), ['0-0', '1-3'])
  const later = open.reply('interrupted, goes on').user('x')
  assert.deepEqual(edges(later.nodes), [true, true, false, false, true, true, true])
})

test('unanswered calls are named with the place of their reply', () => {
  const { nodes } = surface().user('go').reply('', ['a', 'b'], { seq: 4, turn: 2, step: 3 }).result('b', '')
  assert.deepEqual(unansweredCalls(nodes), [
    { callId: 'a', name: 'run_command', assistantSeq: 4, turn: 2, step: 3 },
  ])
  const server = surface().reply([{ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }])
  assert.deepEqual(unansweredCalls(server.nodes), [], 'a call of the provider is not ours to answer')
})

test('pairs of every type count: server and MCP tools, and result blocks inside a message', () => {
  const paused = surface()
    .reply([{ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }])
    .reply([{ type: 'web_search_tool_result', tool_use_id: 's', content: [] }])
  assert.deepEqual(edges(paused.nodes), [true, false, true])
  const mcp = surface().reply([
    { type: 'mcp_tool_use', id: 'm', name: 'x', server_name: 'y', input: {} },
    { type: 'mcp_tool_result', tool_use_id: 'm', content: [] },
  ])
  assert.deepEqual(edges(mcp.nodes), [true, true])
  const inside = surface()
    .reply('', ['a'])
    .user([{ type: 'tool_result', tool_use_id: 'a', content: 'A' }], 'import')
  assert.deepEqual(edges(inside.nodes), [true, false, true])
})

test('a seq that is not on the surface is an error', () => {
  const { nodes } = surface().user('a')
  assert.throws(() => toolPairingBalancedBefore(nodes, 99), { name: 'InvalidSpan', message: /seq 99/ })
})

test('splitCallAt names the call that a cut would split', () => {
  const { nodes } = surface().user('go').reply('', ['a', 'b']).result('a', '').result('b', '')
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((cut) => splitCallAt(nodes, cut)),
    [undefined, undefined, 'a', 'b', undefined],
  )
})

test('units carry the sum of their prices and cover the surface', () => {
  const { nodes } = surface()
    .user('u', 'prompt', { tokens: 5 })
    .reply('', ['a'], { tokens: 7 })
    .result('a', 'x', { tokens: 11 })
  assert.deepEqual(unitsOf(nodes), [
    { from: 0, to: 0, tokens: 5 },
    { from: 1, to: 2, tokens: 18 },
  ])
  assert.deepEqual(unitsOf([]), [])
})
