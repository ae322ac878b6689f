import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ModelCallContext, ModelClient } from '../../src/shared/ports/model.ts'
import { text } from '../../src/shared/session/content.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { type ActivityStage, openStage, RUN_1, SESSION } from '../support/activity-stage.ts'
import { eventually } from '../support/eventually.ts'
import { ofType } from '../support/of-type.ts'

// What a reply had said when its turn ended without it.

const KEY = 't1.s1.assistant'

/** A model whose reply goes on as the test says, behind what was said first. */
function spoken(first: string, goOn: (context: ModelCallContext) => Promise<string>): ModelClient {
  const scripted = scriptedModel(async (_request, context) => goOn(context))
  return {
    ...scripted,
    generate: (request, context) => {
      context.onDelta?.({ text: first })
      return scripted.generate(request, context)
    },
  }
}

const untilAborted = ({ signal }: ModelCallContext) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

async function callModel(model: ModelClient) {
  const stage = await openStage({ model })
  await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'a', message: 'Go.' })
  const call = stage.start(RUN_1, 'sessionCallModel', { turn: 1, step: 1 })
  call.result.catch(() => undefined)
  return { stage, call }
}

const isShown = ({ store }: ActivityStage) =>
  eventually(
    () => store.deltas(SESSION, KEY),
    (deltas) => deltas.length > 0,
  )
const endTurn = (stage: ActivityStage) => stage.run(RUN_1, 'sessionEndTurn', { turn: 1, reason: 'aborted' })
const replies = async ({ store }: ActivityStage) =>
  ofType(await store.events(SESSION, { types: ['assistant/message'] }), 'assistant/message').map(
    ({ data }) => [data.content, data.interrupted],
  )
const endOf = async ({ store }: ActivityStage) => {
  const end = await store.eventByKey(SESSION, 't1.end')
  return end?.type === 'turn/end' && end.data.reason
}

describe('a turn that ends while its model speaks', () => {
  test('keeps what was shown, once, and nothing of what comes behind it', async () => {
    const { stage, call } = await callModel(
      spoken('Half a sen', async (context) => {
        await untilAborted(context).catch(() => undefined)
        context.onDelta?.({ text: 'tence, too late' })
        throw new Error('aborted')
      }),
    )
    await isShown(stage)
    await endTurn(stage)
    await endTurn(stage)
    call.cancel()
    await assert.rejects(call.result)
    assert.deepEqual(await replies(stage), [[[text('Half a sen')], true]])
    assert.equal(await endOf(stage), 'aborted')
    assert.deepEqual(await stage.store.deltas(SESSION, KEY), [])
  })

  test('blanks are no message', async () => {
    const { stage, call } = await callModel(spoken(' \n', untilAborted))
    await isShown(stage)
    await endTurn(stage)
    call.cancel()
    assert.deepEqual([await replies(stage), await endOf(stage)], [[], 'aborted'])
  })

  test('a call that fails for good leaves what it had said, to the last word', async () => {
    const { stage, call } = await callModel(
      spoken('All of this', async () => {
        throw new Error('connection reset')
      }),
    )
    await assert.rejects(call.result)
    await stage.run(RUN_1, 'sessionEndTurn', { turn: 1, reason: 'error', message: 'connection reset' })
    assert.deepEqual(await replies(stage), [[[text('All of this')], true]])
  })

  test('a whole reply that lands in the same moment stands, and the turn ends all the same', async () => {
    let finish: (said: string) => void = () => {}
    const whole = new Promise<string>((resolve) => {
      finish = resolve
    })
    const { stage, call } = await callModel(spoken('The whole', () => whole))
    await isShown(stage)
    const { store } = stage
    const { endTurn: end } = store
    store.endTurn = async (input) => {
      store.endTurn = end
      // As when the reply asks for a tool, so that its turn stays open.
      const [events, actor] = [input.events ?? [], RUN_1]
      await store.append({
        sessionId: SESSION,
        actor,
        turn: 1,
        events: events.map(
          (event) => ({ ...event, data: { ...event.data, content: [text('The whole.')] } }) as never,
        ),
      })
      return end.call(store, input)
    }
    await endTurn(stage)
    finish('The whole.')
    await call.result.catch(() => undefined)
    assert.deepEqual(
      (await replies(stage)).map(([content]) => content),
      [[text('The whole.')]],
    )
    assert.equal(await endOf(stage), 'aborted')
  })
})
