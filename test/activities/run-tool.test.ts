import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { isText } from '../../src/shared/session/content.ts'
import type { NewEvent } from '../../src/shared/session/events.ts'
import { keys as eventKeys } from '../../src/shared/session/keys.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { type ActivityStage, openStage, RUN_1, SESSION } from '../support/activity-stage.ts'

// Claims: the log says that a tool is about to run before it runs, so that a later attempt knows that it may have.

let runs: string[] = []
let keys: string[] = []
/** What the tools do; a worker that dies in the middle never comes back. */
let body: (name: string) => Promise<string> = async (name) => `${name} ran`
const tool = (name: string, idempotent: boolean): Tool => ({
  name,
  description: name,
  input: { jsonSchema: { type: 'object' } },
  idempotent,
  timeoutMs: 500, // So that an attempt that nobody ends keeps this process no longer.
  async run(_input, { idempotencyKey }) {
    runs.push(name)
    keys.push(idempotencyKey)
    return body(name)
  },
})

async function calledTool(name: string): Promise<ActivityStage> {
  runs = []
  keys = []
  body = async () => `${name} ran`
  const model = scriptedModel([{ content: [{ type: 'tool_use', id: 'c', name, input: {} }] }])
  const stage = await openStage({ model, tools: [tool('pay', false), tool('read', true)] })
  await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'a', message: 'Go.' })
  await stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 1 })
  return stage
}

const runTool = (stage: ActivityStage, attempt: number) =>
  stage.run(RUN_1, 'sessionRunTool', { turn: 1, step: 1, callId: 'c' }, attempt)

async function resultOf({ store }: ActivityStage): Promise<string | undefined> {
  const results = (await store.events(SESSION)).filter((event) => event.type === 'tool/result')
  assert.equal(results.length, 1)
  const [result] = results
  return result?.type === 'tool/result' ? result.data.content.find(isText)?.text : undefined
}

/** The attempt that dies with its worker, in the middle of the tool. */
async function diesInside(stage: ActivityStage): Promise<void> {
  const reached = new Promise<void>((resolve) => {
    body = () => {
      resolve()
      return new Promise(() => {})
    }
  })
  void runTool(stage, 1)
  await reached
  body = async (name) => `${name} ran`
}

describe('a tool call', () => {
  test('the history tool only reads: an attempt that finds the claim of a dead one answers all the same', async () => {
    const stage = await calledTool('history')
    const claim: NewEvent = {
      key: eventKeys.toolClaim(1, 1, 'c'),
      type: 'tool/claim',
      turn: 1,
      step: 1,
      data: { callId: 'c', runId: RUN_1.runId, attempt: 1 },
      tokens: 0,
    }
    await stage.store.append({ sessionId: SESSION, actor: RUN_1, turn: 1, events: [claim] })
    await runTool(stage, 2)
    assert.match((await resultOf(stage)) ?? '', /^history takes /)
  })

  test('is claimed in the log before the tool runs', async () => {
    const stage = await calledTool('pay')
    let seen: string | undefined
    body = async () => {
      seen = (await stage.store.events(SESSION)).at(-1)?.type
      return 'paid'
    }
    await runTool(stage, 1)
    assert.equal(seen, 'tool/claim')
    assert.equal(await resultOf(stage), 'paid')
  })

  test('fault T01 whose worker died inside is not run again: the model is told that the outcome is unknown', async () => {
    const stage = await calledTool('pay')
    await diesInside(stage)
    assert.equal((await runTool(stage, 2)).isError, true)
    assert.deepEqual(runs, ['pay'])
    assert.match((await resultOf(stage)) ?? '', /^Outcome unknown: .*not repeated.*Check what it did/)
  })

  test('fault T01 of an idempotent tool is run again, under the same key', async () => {
    const stage = await calledTool('read')
    await diesInside(stage)
    assert.equal((await runTool(stage, 2)).isError, false)
    assert.deepEqual(runs, ['read', 'read'])
    assert.deepEqual(keys, ['s1.t1.s1.tool.c', 's1.t1.s1.tool.c'])
    assert.equal(await resultOf(stage), 'read ran')
  })

  for (const name of ['pay', 'read']) {
    test(`whose answer to the server was lost keeps its result: ${name} does not run again`, async () => {
      const stage = await calledTool(name)
      await runTool(stage, 1)
      assert.equal((await runTool(stage, 2)).isError, false)
      assert.deepEqual(runs, [name])
      assert.equal(await resultOf(stage), `${name} ran`)
    })
  }

  test('that the step does not have is refused by name', async () => {
    const stage = await calledTool('pay')
    const input = { turn: 1, step: 1, callId: 'other' }
    await assert.rejects(
      stage.run(RUN_1, 'sessionRunTool', input),
      (error: { type?: string }) => error.type === 'InvalidInput' && /no call "other"/.test(String(error)),
    )
  })
})
