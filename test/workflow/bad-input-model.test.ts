import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import { ManualCompactionError, SessionError } from '../../src/shared/errors.ts'
import type { ModelClient, ModelReply, ModelRequest } from '../../src/shared/ports/model.ts'
import { isText, text } from '../../src/shared/session/content.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'

// What model clients do wrong, in real sessions: the turn ends with the provider's own words, or the summary with its fallback, and the session goes on.

type Fault = (request: ModelRequest, calls: number) => ModelReply | Promise<ModelReply>
const faults = new Map<string, Fault>()
const calls = new Map<string, number>()
const scripted = scriptedModel(
  ({ messages }) => (askedBy(messages) === 'Talk.' ? 'word '.repeat(900) : 'Done.'),
  {
    capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 },
    summaries: 'The user asked for words. Next: nothing.',
  },
)

const askedBy = (messages: ModelRequest['messages']) =>
  messages.at(-1)?.content.filter(isText).at(-1)?.text ?? ''

/** Answers as the script does, but for the prompts and the summaries that have a fault. */
const model: ModelClient = {
  ...scripted,
  async generate(request, context) {
    const name = request.purpose === 'summary' ? `summary ${request.sessionId}` : askedBy(request.messages)
    const fault = faults.get(name)
    if (fault === undefined) return scripted.generate(request, context)
    const count = (calls.get(name) ?? 0) + 1
    calls.set(name, count)
    return fault(request, count)
  },
}

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model })
})
after(() => real.close())

async function turnOf(session: Session, prompt: string) {
  return (await session.prompt(prompt)).result({ timeoutMs: 120_000 })
}

/** The prompt meets the fault; the next one is answered. */
async function faultyTurn(prompt: string, fault: Fault) {
  faults.set(prompt, fault)
  const session = await real.start()
  const ended = await turnOf(session, prompt)
  assert.equal((await turnOf(session, 'Still there?')).reason, 'completed')
  return { ended, asked: calls.get(prompt) ?? 0 }
}

const reply = (rest: Partial<ModelReply> = {}): ModelReply => ({
  content: [text('ok')],
  stopReason: 'end_turn',
  usage: null,
  ...rest,
})

describe('a model client', { concurrency: true }, () => {
  test('that throws a plain Error is asked five times, then the turn ends with its message, unchanged', async () => {
    const { ended, asked } = await faultyTurn('plain', () => {
      throw new Error('tls: bad certificate (host “api.example”)')
    })
    assert.deepEqual([ended.reason, ended.error], ['error', 'tls: bad certificate (host “api.example”)'])
    assert.equal(asked, 5)
  })

  test('that recovers in time is paid once: the turn is completed', async () => {
    const { ended, asked } = await faultyTurn('twice', (_request, count) => {
      if (count <= 2) throw new Error('socket hang up')
      return reply()
    })
    assert.deepEqual([ended.reason, asked], ['completed', 3])
  })

  test('that says that no retry helps is asked once', async () => {
    const { ended, asked } = await faultyTurn('final', () => {
      throw new SessionError('ModelFailed', 'credit balance is too low')
    })
    assert.deepEqual([ended.reason, ended.error, asked], ['error', 'credit balance is too low', 1])
  })

  test('that throws what is no Error', async () => {
    const { ended } = await faultyTurn('string', () => Promise.reject('just text'))
    assert.deepEqual([ended.reason, ended.error], ['error', 'just text'])
  })

  const noReplies: Readonly<Record<string, unknown>> = {
    nothing: undefined,
    'content that is text': { ...reply(), content: 'ok' },
    'a block without a type': { ...reply(), content: [{ text: 'ok' }] },
    'no stop reason': { ...reply(), stopReason: undefined },
    'usage that is not a number': {
      ...reply(),
      usage: { inputTokens: Number.NaN, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 },
    },
  }
  for (const [what, given] of Object.entries(noReplies)) {
    test(`that gives ${what}: asked once, the turn ends and names the client and the field`, async () => {
      const { ended, asked } = await faultyTurn(`gives ${what}`, () => given as ModelReply)
      assert.equal(ended.reason, 'error')
      assert.match(ended.error ?? '', /^The client of scripted\/scripted gave what is no reply: reply/)
      assert.equal(asked, 1)
    })
  }

  test('that answers with lone surrogates: they are mended', async () => {
    const { ended } = await faultyTurn('surrogates', () => reply({ content: [text('a\ud800b')] }))
    assert.deepEqual(ended.message, [text('a\ufffdb')])
  })
})

describe('a summary', { concurrency: true }, () => {
  /** A session with enough to compact; its summaries meet the fault. */
  async function withFault(fault: Fault, policy: Readonly<Record<string, unknown>> = {}) {
    const session = await real.start({ policy })
    for (let turn = 0; turn < 4; turn++) await turnOf(session, 'Talk.')
    faults.set(`summary ${session.id}`, fault)
    return session
  }
  const away: Fault = () => {
    throw new Error('the provider is away')
  }

  test('whose client is away: five calls, then `summary` with its message; nothing is lost, the next one is made', async () => {
    const session = await withFault(away)
    const before = await real.store.surface(session.id)
    await assert.rejects(session.compactNow(), (error: unknown) => {
      assert.ok(error instanceof ManualCompactionError)
      assert.equal(error.code, 'summary')
      assert.match(error.message, /the provider is away/)
      return true
    })
    assert.equal(calls.get(`summary ${session.id}`), 5)
    assert.deepEqual((await real.store.surface(session.id)).nodes, before.nodes)
    faults.delete(`summary ${session.id}`)
    assert.equal((await session.compactNow())?.cause, 'manual')
    assert.equal((await turnOf(session, 'Still there?')).reason, 'completed')
  })

  test('whose client is away, where the policy always falls back: the checkpoint that code writes', async () => {
    const session = await withFault(away, { summaryFallback: 'always' })
    const result = await session.compactNow()
    assert.equal(result?.model, 'deterministic')
    assert.equal((await turnOf(session, 'Still there?')).reason, 'completed')
  })
})
