import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import type { TurnEndReason } from '../../src/shared/session/events.ts'
import { type LiveSessions, messagesOf, openLiveSessions } from '../support/anthropic/live-sessions.ts'
import { streamText } from '../support/anthropic/server.ts'
import { sse, streamEvents } from '../support/anthropic/stream-events.ts'
import { ofType } from '../support/whole-log.ts'

// What follows each way in which a reply of the Messages API can stop: over HTTP, on the real workflow.

const ran: string[] = []
let live: LiveSessions
before(async () => {
  live = await openLiveSessions({
    tools: [
      {
        name: 'look',
        description: 'Looks.',
        input: { jsonSchema: { type: 'object' } },
        async run(_input, { callId }) {
          ran.push(callId)
          return `seen by ${callId}`
        },
      },
    ],
  })
})
after(async () => {
  live.server.assertValid()
  await live.close()
})

let lastCall = 0
const look = (): ContentBlock & { readonly id: string } => ({
  type: 'tool_use',
  id: `toolu_${++lastCall}`,
  name: 'look',
  input: { path: 'a.txt' },
})
const search = (id: string): ContentBlock => ({
  type: 'server_tool_use',
  id,
  name: 'web_search',
  input: { query: 'q' },
})
const found = (id: string): ContentBlock => ({
  type: 'web_search_tool_result',
  tool_use_id: id,
  content: [{ type: 'web_search_result', url: 'https://x.test', encrypted_content: 'e' }],
})
const result = ({ id }: { readonly id: string }): ContentBlock => ({
  type: 'tool_result',
  tool_use_id: id,
  content: [text(`seen by ${id}`)],
})
const user = (...content: ContentBlock[]) => ({ role: 'user' as const, content })
const assistant = (...content: ContentBlock[]) => ({ role: 'assistant' as const, content })

describe('stop reasons', { concurrency: true }, () => {
  for (const stopReason of ['end_turn', 'stop_sequence', 'a_reason_of_2030'])
    test(`${stopReason} without a call completes the turn`, async () => {
      const { say, received } = await live.open([{ content: [text('Well.')], stopReason }])
      const { reason, message } = await say('Say it.')
      assert.deepEqual([reason, message, received.length], ['completed', [text('Well.')], 1])
    })

  test('tool_use runs the calls, in one reply together, and their results go back in one message', async () => {
    const [first, second] = [look(), look()]
    const { say, received } = await live.open([
      { content: [text('I look twice.'), first, second] },
      { content: [text('Seen.')] },
    ])
    assert.equal((await say('Look.')).reason, 'completed')
    assert.deepEqual(messagesOf(received[1] ?? assert.fail()), [
      user(text('Look.')),
      assistant(text('I look twice.'), first, second),
      user(result(first), result(second)),
    ])
  })

  test('pause_turn goes on with the same reply until it ends, its blocks untouched; afterwards they are one message', async () => {
    const thought: ContentBlock = { type: 'thinking', thinking: 'Where is it?', signature: 'sig-pause' }
    const paused = [thought, text('I search.'), search('srvtoolu_1')]
    const more = [found('srvtoolu_1'), search('srvtoolu_2')]
    const last = [found('srvtoolu_2'), text('Found.')]
    const { say, received } = await live.open([
      { content: paused, stopReason: 'pause_turn' },
      { content: more, stopReason: 'pause_turn' },
      { content: last },
      { content: [text('Gladly.')] },
    ])
    const { reason, message } = await say('Search.')
    assert.deepEqual([reason, message], ['completed', last])
    assert.equal((await say('Thanks.')).reason, 'completed')
    assert.deepEqual(received.map(messagesOf), [
      [user(text('Search.'))],
      [user(text('Search.')), assistant(...paused)],
      [user(text('Search.')), assistant(...paused, ...more)],
      [user(text('Search.')), assistant(...paused, ...more, ...last), user(text('Thanks.'))],
    ])
  })

  test('pause_turn, and a person says more meanwhile: the call that nobody will answer is left out', async () => {
    const opened: Awaited<ReturnType<LiveSessions['open']>> = await live.open([
      async (_request, response) => {
        await opened.session.prompt('Stop searching.', { requestId: 'more', delivery: 'next-step' })
        const events = streamEvents({
          content: [text('I search.'), search('srvtoolu_3')],
          stopReason: 'pause_turn',
        })
        streamText(response, sse(events)).end()
      },
      { content: [text('As you like.')] },
    ])
    assert.equal((await opened.say('Search.')).reason, 'completed')
    const last = JSON.stringify(opened.received.at(-1)?.body['messages'])
    assert.ok(last.includes('Stop searching.') && !last.includes('srvtoolu_3'), last)
  })

  test('pause_turn of a reply with nothing to go on with ends the turn, so that nobody asks for ever', async () => {
    const { say, received } = await live.open([{ content: [text('Hm.')], stopReason: 'pause_turn' }])
    assert.equal((await say('Go.')).reason, 'completed')
    assert.equal(received.length, 1)
  })

  test('pause_turn without an end: sixteen requests are paid, then the turn ends and says so; the next prompt goes on', async () => {
    const pauses = Array.from({ length: 16 }, (_, at) => ({
      content: [search(`srvtoolu_${at}`)],
      stopReason: 'pause_turn',
    }))
    const { say, received } = await live.open([...pauses, { content: [text('Found.')] }])
    const ended = await say('Search.')
    assert.deepEqual([ended.reason, ended.code], ['error', 'TooManyPauses'])
    assert.match(ended.error ?? '', /paused 16 times in a row/)
    assert.equal(received.length, 16)
    assert.equal((await say('Go on.')).reason, 'completed')
  })

  for (const [stopReason, ends, said] of [
    ['max_tokens', 'max-tokens', 'was cut off by the limit of the reply and was not run'],
    ['model_context_window_exceeded', 'max-tokens', 'was cut off by the limit of the reply and was not run'],
    ['refusal', 'blocked', 'was not run: the reply ended as "refusal"'],
    ['a_reason_of_2030', 'error', 'was not run: the reply ended as "a_reason_of_2030"'],
  ] as const satisfies readonly (readonly [string, TurnEndReason, string])[])
    for (const isHalf of [true, false])
      test(`${stopReason} with a call, ${isHalf ? 'half' : 'all'} of it written: it never runs, the turn ends as ${ends}, what was said stays, and the next turn is valid`, async () => {
        const call = look()
        const events = streamEvents({ content: [text('Let me look.'), call], stopReason })
        const lastPiece = events.findLastIndex(({ type }) => type === 'content_block_delta')
        const { session, say, received } = await live.open([
          (_request, response) =>
            streamText(response, sse(isHalf ? events.toSpliced(lastPiece, 1) : events)).end(),
          { content: [text('Fine.')] },
        ])
        const first = await say('Look.')
        assert.equal(first.reason, ends)
        if (ends === 'error') {
          assert.equal(first.code, 'UnknownStopReason')
          assert.match(first.error ?? '', /"a_reason_of_2030".*none of them was run/)
        }
        assert.equal(received.length, 1, 'nobody asks again by himself')
        assert.equal((await say('And now?')).reason, 'completed')
        assert.ok(!ran.includes(call.id))
        const [, reply, answer] = messagesOf(received[1] ?? assert.fail())
        const written = { ...call, input: isHalf ? {} : call['input'] }
        assert.deepEqual(reply, assistant(text('Let me look.'), written))
        const [told] = answer?.content ?? []
        assert.equal(told?.['is_error'], true)
        assert.ok(JSON.stringify(told).replaceAll('\\', '').includes(said), JSON.stringify(told))
        assert.deepEqual(answer?.content.slice(1), [text('And now?')])
        const results = ofType(await live.log(session), 'tool/result')
        assert.deepEqual(
          results.map(({ data }) => [data.callId, data.isError]),
          [[call.id, true]],
        )
      })

  test('a refusal before the first word leaves nothing behind that could stop the next request', async () => {
    const { say, received } = await live.open([
      { content: [], stopReason: 'refusal' },
      { content: [text('Gladly.')] },
    ])
    const { reason, message } = await say('Do it.')
    assert.deepEqual([reason, message], ['blocked', []])
    assert.equal((await say('Then this.')).reason, 'completed')
    assert.deepEqual(messagesOf(received[1] ?? assert.fail()), [user(text('Do it.'), text('Then this.'))])
  })

  test('calls with end_turn, as some servers say it, run', async () => {
    const call = look()
    const { say } = await live.open([
      { content: [call], stopReason: 'end_turn' },
      { content: [text('Seen.')] },
    ])
    assert.equal((await say('Look.')).reason, 'completed')
    assert.ok(ran.includes(call.id))
  })
})
