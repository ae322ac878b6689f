import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { type ContentBlock, isText } from '../../src/shared/session/content.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { type ScriptedReply, scriptedModel } from '../../src/worker/index.ts'
import { ofType } from '../support/of-type.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'

// The model asks for a compaction itself: real activities and store on a real server.

const words: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => 'word '.repeat(1_500),
}
const call = (id: string, name: string, input: object = {}): ContentBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
})
const compact = (id: string, input: object = {}) => call(id, 'compact', input)
const uses = (...content: ContentBlock[]): ScriptedReply => ({ content })

/** By session id: replies in order, and what its summarizer says. */
const scripts = new Map<string, readonly ScriptedReply[]>()
const summaries = new Map<string, string>()
const requests = new Map<string, ModelRequest[]>()
const model = scriptedModel(
  (request) => {
    requests.set(request.sessionId, [...(requests.get(request.sessionId) ?? []), request])
    return scripts.get(request.sessionId)?.[request.index] ?? 'Done.'
  },
  {
    capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 },
    summaries: ({ sessionId }) => summaries.get(sessionId) ?? 'Words were read. Next: go on.',
  },
)

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [words])
})
after(() => real.close())

async function run(script: readonly ScriptedReply[], summary?: string) {
  const session = await real.start({ policy: { micro: false } })
  scripts.set(session.id, script)
  if (summary !== undefined) summaries.set(session.id, summary)
  const turn = await session.prompt('Read the words, then tidy up.')
  assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
  const asked = requests.get(session.id) ?? []
  for (const { messages } of asked) assert.deepEqual(requestProblems(messages), [])
  return { session, events: await real.log(session), asked }
}

const textsOf = (request: ModelRequest | undefined): string[] =>
  (request?.messages ?? []).flatMap(({ content }) => content.filter(isText).map((block) => block.text))

const answerTo = (events: Awaited<ReturnType<typeof run>>['events'], callId: string): string =>
  JSON.stringify(ofType(events, 'tool/result').find(({ data }) => data.callId === callId)?.data.content)

describe('the compact tool', { concurrency: true }, () => {
  test('all pairs of its step are whole first, the turn goes on, and the checkpoint says who asked', async () => {
    const { events, asked } = await run([
      uses(call('a', 'words'), call('b', 'words')),
      uses(compact('x', { focus: 'the file names' }), call('c', 'words')),
      uses(call('d', 'words')),
    ])
    const [start, ...others] = ofType(events, 'compact/start')
    assert.deepEqual([start?.data.cause, start?.data.turn, start?.data.focus], ['tool', 1, 'the file names'])
    assert.equal(others.length, 0)
    const answered = ofType(events, 'tool/result').filter(({ seq }) => seq < (start?.seq ?? 0))
    assert.deepEqual(answered.map(({ data }) => data.callId).sort(), ['a', 'b', 'c', 'x'])
    assert.match(answerTo(events, 'x'), /Accepted/)
    assert.ok(
      textsOf(asked[2]).some((text) => /You asked for it with the tool compact, and it is done/.test(text)),
    )
    assert.equal(ofType(events, 'assistant/message').length, 4, 'the turn went on to its end')
    assert.equal(ofType(events, 'user/message').filter(({ data }) => data.source === 'notice').length, 0)
  })

  test('asking again at once is answered without a new compaction; after more work it is not', async () => {
    const { events } = await run([
      uses(call('a', 'words'), call('b', 'words')),
      uses(compact('x'), compact('y')),
      uses(compact('z')),
      uses(call('c', 'words'), call('d', 'words')),
      uses(compact('w')),
    ])
    assert.deepEqual(
      ofType(events, 'compact/start').map(({ data }) => data.compactionId),
      ['t1.s2.tool.x', 't1.s5.tool.w'],
    )
    assert.match(answerTo(events, 'y'), /Already asked for in this step/)
    assert.match(answerTo(events, 'z'), /Not compacted again: you asked for it in the step before/)
  })

  test('when there is nothing to take, the next request says so, once', async () => {
    const { events, asked } = await run([uses(compact('x')), uses(call('a', 'words'))])
    assert.equal(ofType(events, 'compact/start').length, 0)
    const notices = ofType(events, 'user/message').filter(({ data }) => data.source === 'notice')
    assert.equal(notices.length, 1)
    assert.ok(
      textsOf(asked[1]).some((text) =>
        /^\[The compaction that you asked for found nothing to do: /.test(text),
      ),
    )
  })

  test('B16 when it fails, the next request says so with the code, and the turn goes on', async () => {
    const { session, events, asked } = await run(
      [uses(call('a', 'words'), call('b', 'words')), uses(compact('x'))],
      '',
    )
    const [end] = ofType(events, 'compact/end')
    assert.equal(end?.data.error?.code, 'summary')
    assert.ok(
      textsOf(asked[2]).some((text) =>
        /^\[The compaction that you asked for failed \(summary\): /.test(text),
      ),
    )
    const state = await whenIdle(session)
    assert.deepEqual(
      [state.lastFailure?.compactionId, state.lastFailure?.errorCode],
      ['t1.s2.tool.x', 'summary'],
    )
  })

  test('its description says when to use it, and a policy without it offers none', async () => {
    const { asked } = await run([])
    const tool = asked[0]?.tools.find(({ name }) => name === 'compact')
    assert.match(tool?.description ?? '', /Use it when a piece of work is finished/)
    const session = await real.start({ policy: { auto: false } })
    assert.ok((await session.stored())?.header.tools.every(({ name }) => name !== 'compact'))
  })
})
