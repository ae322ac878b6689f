import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ContextOverflowError, type ModelClient, type ModelRequest } from '../../src/shared/ports/model.ts'
import { isText, text } from '../../src/shared/session/content.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { type ActivityStage, openStage, RUN_1, SESSION } from '../support/activity-stage.ts'

// One model request of a turn: what is sent, what is paid, what is refused before it is sent.

let sent: ModelRequest[] = []
const scripted = scriptedModel(({ index }) => `answer ${index}`)
/** Tests put another `generate` in its place. */
const model: { -readonly [K in keyof ModelClient]: ModelClient[K] } = {
  ...scripted,
  capacity: async () => ({ contextWindow: 20_000, maxOutputTokens: 1_000 }),
  async generate(request, context) {
    sent.push(request)
    return scripted.generate(request, context)
  },
}

async function openTurn(message = 'Go.', options = {}): Promise<ActivityStage> {
  sent = []
  const stage = await openStage({ model, ...options })
  await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'a', message })
  return stage
}

const call = (stage: ActivityStage, attempt = 1) =>
  stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 1 }, attempt)

describe('sessionCallModel', () => {
  test('whose answer to the server was lost: the recorded reply, not paid again', async () => {
    const stage = await openTurn()
    const first = await call(stage)
    const head = (await stage.store.session(SESSION))?.head
    assert.deepEqual(await call(stage, 2), first)
    assert.equal(sent.length, 1)
    assert.equal((await stage.store.session(SESSION))?.head, head)
  })

  test('whose worker died in the call: the step begins once, the request is the same', async () => {
    const stage = await openTurn()
    const generate = model.generate
    const died = new Promise<void>((resolve) => {
      model.generate = (request) => {
        sent.push(request)
        resolve()
        return new Promise(() => {})
      }
    })
    const running = stage.start(RUN_1, 'sessionCallModel', { turn: 1, step: 1 })
    await died
    model.generate = generate
    await call(stage, 2)
    running.cancel()
    await assert.rejects(running.result)
    assert.deepEqual(sent[1], sent[0])
    const starts = (await stage.store.events(SESSION)).filter((event) => event.type === 'step/start')
    assert.equal(starts.length, 1)
  })

  test('joins the prompts that wait for the next step, in their order, once', async () => {
    const stage = await openTurn()
    for (const requestId of ['b', 'c']) {
      const body = [text(`and ${requestId}`)]
      await stage.store.putInbox({
        sessionId: SESSION,
        requestId,
        kind: 'prompt',
        body,
        delivery: 'next-step',
      })
    }
    const reply = await call(stage)
    assert.deepEqual(reply.kind === 'reply' && reply.joined, ['b', 'c'])
    assert.deepEqual(
      sent[0]?.messages
        .at(-1)
        ?.content.filter(isText)
        .map((block) => block.text),
      ['Go.', 'and b', 'and c'],
    )
    assert.deepEqual(await call(stage, 2), reply)
    const rows = await stage.store.inbox(SESSION, { requestIds: ['b', 'c'] })
    assert.deepEqual(
      rows.map(({ state }) => state),
      ['done', 'done'],
    )
  })

  test('that is known not to fit is not sent: what it needs and what there is', async () => {
    const stage = await openTurn('word '.repeat(30_000))
    const refused = await call(stage)
    assert.ok(refused.kind === 'needs-compaction')
    assert.match(
      refused.message,
      /needs about \d+ tokens and 1000 for the reply; the window of scripted\/x is 20000/,
    )
    assert.equal(sent.length, 0)
  })

  test('that the provider finds too long is ContextOverflow with the generation of its surface, not to be retried', async () => {
    const stage = await openTurn()
    const generate = model.generate
    model.generate = async () => Promise.reject(new ContextOverflowError('prompt is too long: 9 > 8'))
    try {
      await assert.rejects(call(stage), (error: unknown) => {
        const { type, nonRetryable, details, message } = error as Record<string, unknown>
        assert.deepEqual([type, nonRetryable, details], ['ContextOverflow', true, [{ generation: 0 }]])
        return message === 'prompt is too long: 9 > 8'
      })
    } finally {
      model.generate = generate
    }
    assert.equal((await call(stage, 2)).kind, 'reply')
  })

  test('a client that ignores the cancel does not hold it', { timeout: 60_000 }, async () => {
    const stage = await openTurn()
    const generate = model.generate
    const reached = new Promise<void>((resolve) => {
      model.generate = () => {
        resolve()
        return new Promise(() => {})
      }
    })
    const running = stage.start(RUN_1, 'sessionCallModel', { turn: 1, step: 1 })
    await reached
    running.cancel()
    await assert.rejects(running.result, (error: { name?: string }) => error.name === 'CancelledFailure')
    model.generate = generate
  })
})
