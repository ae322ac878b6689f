import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import { INTERRUPTED_RESULT } from '../../src/shared/session/repair.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { toolPairingBalancedAfter, unansweredCalls, unitsOf } from '../../src/shared/session/tool-pairing.ts'
import { anySurface, runs, soundSurface } from './surface-arbitrary.ts'

test('G4 any surface with a prompt behind it gives a valid request', () => {
  fc.assert(
    fc.property(anySurface, (builder) => {
      const { nodes } = builder.user('and now?')
      assert.deepEqual(requestProblems(deriveMessages(nodes)), [])
    }),
    runs(2_000),
  )
})

test('O5 O6 a sound surface stands in its request once, in order, the unanswered input last', () => {
  fc.assert(
    fc.property(soundSurface, (builder) => {
      const { nodes } = builder.user('and now?')
      const messages = deriveMessages(nodes)
      assert.deepEqual(requestProblems(messages, { surface: nodes }), [])
      const results = messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'))
      assert.equal(results.length, nodes.filter(({ type }) => type === 'tool/result').length)
    }),
    runs(1_000),
  )
})

test("what follows a request does not change it: the provider's cache holds", () => {
  fc.assert(
    fc.property(soundSurface, (builder) => {
      const request = deriveMessages(builder.user('and now?').nodes)
      const later = deriveMessages(builder.reply('yes', ['new']).result('new', 'x').nodes)
      assert.deepEqual(later.slice(0, request.length), request)
      assert.equal(JSON.stringify(later.slice(0, request.length)), JSON.stringify(request))
    }),
    runs(500),
  )
})

test('the messages of a surface are the same after its journey through JSON', () => {
  fc.assert(
    fc.property(soundSurface, ({ nodes }) => {
      const stored = JSON.parse(JSON.stringify(nodes)) as typeof nodes
      assert.equal(JSON.stringify(deriveMessages(stored)), JSON.stringify(deriveMessages(nodes)))
    }),
    runs(200),
  )
})

test('units are exactly what lies between two balanced cuts, on any sound surface', () => {
  fc.assert(
    fc.property(soundSurface, ({ nodes }) => {
      const ends = new Set(unitsOf(nodes).map(({ to }) => to))
      for (const [index, node] of nodes.entries())
        assert.equal(toolPairingBalancedAfter(nodes, node.seq), ends.has(index))
    }),
    runs(300),
  )
})

test('units cover any surface without gaps and keep its price', () => {
  fc.assert(
    fc.property(anySurface, ({ nodes }) => {
      const units = unitsOf(nodes)
      assert.deepEqual(
        units.flatMap(({ from, to }) => nodes.slice(from, to + 1)),
        nodes,
      )
      assert.equal(
        units.reduce((sum, { tokens }) => sum + tokens, 0),
        nodes.reduce((sum, { tokens }) => sum + tokens, 0),
      )
    }),
    runs(500),
  )
})

test('a request holds one interrupted result for each unanswered call', () => {
  fc.assert(
    fc.property(anySurface, ({ nodes }) => {
      const fixed = JSON.stringify(INTERRUPTED_RESULT.content)
      const results = deriveMessages(nodes).flatMap(({ content }) =>
        content.filter(({ content: inner }) => JSON.stringify(inner) === fixed),
      )
      assert.equal(results.length, unansweredCalls(nodes).length)
    }),
    runs(500),
  )
})
