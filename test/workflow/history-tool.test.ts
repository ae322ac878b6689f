import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { type ContentBlock, isText } from '../../src/shared/session/content.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'

// What a compaction took away, read back by the model, on the real path.

/** No name, so that no ledger carries it. */
const SECRET = 'the harbour pilot prefers marmalade'
const read: Tool = {
  name: 'read',
  description: 'Reads.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => `${'word '.repeat(600)}${SECRET} ${'word '.repeat(600)}`,
}

interface Call {
  readonly name: string
  readonly input: object
}

/** The newest prompt is the list of calls that the model makes, one a step. */
function nextCall({ messages }: ModelRequest): Call | undefined {
  const prompted = messages.findLastIndex(
    ({ role, content }) => role === 'user' && wordsOf(content).startsWith('['),
  )
  const calls = JSON.parse(wordsOf(messages[prompted]?.content ?? [])) as Call[]
  return calls[messages.slice(prompted).filter(({ role }) => role === 'assistant').length]
}

const wordsOf = (content: readonly ContentBlock[]): string =>
  content
    .filter(isText)
    .map((block) => block.text)
    .join('\n')

const requests: ModelRequest[] = []
const model = scriptedModel(
  (request) => {
    requests.push(request)
    const call = nextCall(request)
    return call === undefined
      ? 'Done.'
      : { content: [{ type: 'tool_use', id: `c${request.index}`, ...call }] }
  },
  {
    capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 },
    summaries: 'Something was read. Next: go on.',
  },
)

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [read])
})
after(() => real.close())

type ToolResult = Extract<SessionEvent, { type: 'tool/result' }>

/** One turn; the results of its calls. */
async function turnOf(session: Session, ...calls: Call[]): Promise<ToolResult[]> {
  const turn = await session.prompt(JSON.stringify(calls))
  assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
  const events = await real.log(session)
  return events.filter((event): event is ToolResult => event.type === 'tool/result').slice(-calls.length)
}

const reads: Call = { name: 'read', input: {} }
const asks = (input: object): Call => ({ name: 'history', input })

async function compacted(session: Session) {
  const result = await session.compactNow()
  assert.ok(result !== null)
  const [checkpoint] = (await real.store.surface(session.id)).nodes
  assert.equal(checkpoint?.seq, result.checkpointSeq)
  return { result, page: wordsOf(checkpoint?.data.content ?? []) }
}

describe('recall', { concurrency: true }, () => {
  test('fault I09: what left with a compaction is found by its words and read by its number; again after a second one', async () => {
    const session = await real.start()
    const [original] = await turnOf(session, reads, reads)
    assert.ok(original !== undefined)
    const { result, page } = await compacted(session)
    assert.ok(result.shadowedSeqs.includes(original.seq))
    assert.ok(!page.includes(SECRET), 'the checkpoint does not hold it')
    const last = Math.max(...result.shadowedSeqs)
    assert.ok(page.includes(`history {"seq": ${last}}`) && page.includes(`[#${last}]`), page)

    const [hits, whole] = await turnOf(session, asks({ query: 'Harbour PILOT' }), asks({ seq: original.seq }))
    const said = wordsOf(hits?.data.content ?? [])
    assert.match(said, /^Hits 1 to \d, all of them:/)
    assert.ok(said.includes(`[#${original.seq}] result of read, at character 3004 of 6036:\n…`), said)
    assert.ok(said.includes(SECRET))
    const [request] = requests.filter(
      ({ sessionId, messages }) =>
        sessionId === session.id && JSON.stringify(messages).includes('Harbour PILOT'),
    )
    assert.ok(!JSON.stringify(request?.messages).includes(SECRET), 'it was not in the context')
    assert.ok(wordsOf(whole?.data.content ?? []).includes(SECRET))
    assert.equal(hits?.data.isError, false)

    await turnOf(session, reads, reads)
    await compacted(session)
    const [again] = await turnOf(session, asks({ query: SECRET }))
    const cited = [...wordsOf(again?.data.content ?? []).matchAll(/\[#(\d+)\] (.*?),? /g)]
    assert.ok(
      cited.some(([, seq]) => Number(seq) === original.seq),
      'the same number',
    )
    assert.ok(
      cited.every(([, , who]) => who === 'result'),
      'its own earlier answers are no hits',
    )
  })

  test('fault S03: an uncut output is read back though its result still stands; what stands there is not searched', async () => {
    const session = await real.start({ policy: { toolResultMaxTokens: 400 } })
    const [cut, hits, none] = await turnOf(
      session,
      reads,
      asks({ query: 'marmalade' }),
      asks({ query: 'Done.' }),
    )
    assert.ok(!wordsOf(cut?.data.content ?? []).includes(SECRET))
    assert.ok(wordsOf(cut?.data.content ?? []).includes(`history {"seq": ${cut?.data.full}} reads the whole`))
    assert.ok(wordsOf(hits?.data.content ?? []).includes(`[#${cut?.data.full}] whole output of read`))
    assert.match(wordsOf(none?.data.content ?? []), /^Nothing found/)
    for (const result of [hits, none]) assert.ok((result?.tokens ?? 401) <= 400)
  })

  test('without the tool nothing names it', async () => {
    const session = await real.start({ policy: { historyTool: false, toolResultMaxTokens: 400 } })
    await turnOf(session, reads, reads)
    const { page } = await compacted(session)
    assert.match(page, /\[#number\] cites one of them/)
    const { header } = (await real.store.session(session.id)) ?? {}
    assert.deepEqual(
      header?.tools.map(({ name }) => name),
      ['read', 'compact'],
    )
    assert.doesNotMatch(JSON.stringify((await real.store.surface(session.id)).nodes), /history/)
    const [answer] = await turnOf(session, asks({ query: 'x' }))
    assert.equal(answer?.data.isError, true)
  })
})
