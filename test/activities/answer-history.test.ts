import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HISTORY_ANSWER_TOKENS } from '../../src/activities/answer-history.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { isText, text } from '../../src/shared/session/content.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { type ActivityStage, openStage, RUN_1, SESSION } from '../support/activity-stage.ts'

// What the model gets when it calls `history`.

const WORDS = Array.from({ length: 9_000 }, (_, n) => `line ${n}`).join('\n')
const words: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => WORDS,
}

/** A turn whose first step reads words, cut at intake, and whose later steps call `history` with these inputs. */
async function asked(
  inputs: readonly unknown[],
  stageOptions: Partial<Parameters<typeof openStage>[0]> = {},
) {
  const calls = [
    { id: 'w', name: 'words', input: {} },
    ...inputs.map((input, n) => ({ id: `h${n}`, name: 'history', input })),
  ]
  const model = scriptedModel(
    calls.map((call) => ({ content: [{ type: 'tool_use', ...call }] })),
    { capacity: { contextWindow: 100_000 } },
  )
  const stage = await openStage({
    model,
    tools: [words],
    policy: { toolResultMaxTokens: 3_000 },
    ...stageOptions,
  })
  await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'a', message: 'Go.' })
  for (const [n, { id }] of calls.entries()) {
    await stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: n + 1 })
    await stage.run(RUN_1, 'sessionRunTool', { turn: 1, step: n + 1, callId: id })
  }
  return { stage, answers: (await answersOf(stage)).slice(1) }
}

interface Answer {
  readonly said: string
  readonly isError: boolean
  readonly tokens: number
}

async function answersOf({ store }: ActivityStage): Promise<Answer[]> {
  const results = await store.events(SESSION, { types: ['tool/result'] })
  return results.flatMap(({ type, data, tokens }) =>
    type === 'tool/result'
      ? [
          {
            said: data.content
              .filter(isText)
              .map((block) => block.text)
              .join(''),
            isError: data.isError,
            tokens,
          },
        ]
      : [],
  )
}

const find = <T extends SessionEvent['type']>(events: readonly SessionEvent[], type: T) =>
  events.find((event): event is Extract<SessionEvent, { type: T }> => event.type === type)

describe('the history tool', () => {
  test('fault S03: a result that was cut when it came names its whole output, which is read back in parts', async () => {
    const { stage, answers } = await asked([{ seq: 5 }, { seq: 5, from: 80_000 }, { query: 'LINE 4321' }])
    const events = await stage.store.events(SESSION)
    const [output, result] = [find(events, 'tool/output'), find(events, 'tool/result')]
    const marker = `history {"seq": ${output?.seq}} reads the whole …]`
    assert.ok(
      result?.data.content.filter(isText).some((block) => block.text.includes(marker)),
      marker,
    )
    assert.ok(output !== undefined && result !== undefined)
    assert.equal(output.seq, 7)
    const whole = await askedOf(stage, { seq: output.seq })
    assert.match(whole.said, /^\[#7\] whole output of words, characters 0 to \d+ of 88889:\nline 0\nline 1\n/)
    const copy = await askedOf(stage, { seq: result.seq })
    assert.equal(copy.said, whole.said, 'the number of the cut result gives the whole as well')
    const [, , hit] = answers
    assert.match(
      hit?.said ?? '',
      /\[#7\] whole output of words, at character \d+ of 88889:\n…[\s\S]*\nline 4321\n/,
    )
    for (const { tokens } of await answersOf(stage)) assert.ok(tokens <= 3_000)
    for (const { tokens } of answers) assert.ok(tokens <= HISTORY_ANSWER_TOKENS)
  })

  test('what it cannot answer is an error result that says what it takes', async () => {
    const inputs = [
      {},
      { query: 'a', seq: 3 },
      { query: null, seq: null },
      { seq: '#4' },
      { seq: 3.5 },
      { query: 'x', from: -1 },
      { query: '  ' },
      { query: 'x'.repeat(401) },
      { seq: 999 },
      { seq: 0 },
      { seq: 3, from: 100 },
    ]
    const { answers } = await asked(inputs)
    assert.ok(answers.every(({ isError }) => isError))
    const said = answers.map((answer) => answer.said)
    for (const [n, input] of inputs.slice(0, 6).entries())
      assert.equal(
        said[n],
        `history takes {"query": text} or {"seq": number}, one of the two, and beside it "from": number to go on; it got ${JSON.stringify(input)}.`,
      )
    assert.match(said[6] ?? '', /^query must have 1 to 400 characters, not only blanks; it has 2\./)
    assert.match(said[7] ?? '', /it has 401\./)
    assert.match(said[8] ?? '', /^There is no event #999: the events of this session are #0 to #\d+\.$/)
    assert.match(
      said[9] ?? '',
      /^Event #0 is a session\/start: only messages, results and outputs of tools can be read\./,
    )
    assert.match(said[10] ?? '', /^Event #3 ends before character 100/)
  })

  test('nothing found says so, and what was searched; its own calls and answers are never found', async () => {
    const { answers } = await asked([{ query: 'zebra' }, { query: 'zebra' }, { query: 'line 1', from: 1 }])
    for (const { said, isError } of answers.slice(0, 2)) {
      assert.match(
        said,
        /^Nothing found\. Searched for this text as it is written .* no longer in your context\./,
      )
      assert.equal(isError, false)
    }
    assert.equal(answers[2]?.said, 'No more hits behind the first 1.')
  })

  test('erased words are no hit and no crash', async () => {
    const isErased = (stored: Uint8Array | string) =>
      String(stored).includes('line 8999') && String(stored).includes('line 4321')
    let erasing = false
    const codec = {
      encode: (json: string) => json,
      decode: (stored: Uint8Array | string) => (erasing && isErased(stored) ? null : String(stored)),
    }
    const { stage } = await asked([], { store: sqliteStore({ path: ':memory:', codec }) })
    erasing = true
    assert.match((await askedOf(stage, { query: 'line 4321' })).said, /^Nothing found/)
    assert.deepEqual(await askedOf(stage, { seq: 7 }).then(({ said, isError }) => [said, isError]), [
      'The words of event #7 were erased.',
      true,
    ])
  })

  test('a session that does not offer it has no such tool, and its markers do not name it', async () => {
    const { stage, answers } = await asked([{ seq: 3 }], {
      policy: { toolResultMaxTokens: 3_000, historyTool: false },
    })
    assert.deepEqual(
      answers.map(({ said }) => said),
      ['There is no tool "history". Tools: words, compact.'],
    )
    const [cut] = await answersOf(stage)
    assert.match(cut?.said ?? '', /the whole is event #7 …\]/)
    assert.doesNotMatch(cut?.said ?? '', /history/)
  })
})

/** Calls the tool in a step of its own, behind those of the script. */
async function askedOf(stage: ActivityStage, input: unknown): Promise<Answer> {
  const session = await stage.store.session(SESSION)
  const step = (session?.openStep ?? 0) + 1
  const id = `x${step}`
  const reply = {
    key: `t1.s${step}.assistant`,
    type: 'assistant/message' as const,
    turn: 1,
    step,
    data: {
      content: [text('Look.'), { type: 'tool_use', id, name: 'history', input }],
      usage: null,
      stopReason: 'tool_use',
      provider: 'p',
      model: 'm',
    },
    tokens: 20,
    surfaceOp: 'append' as const,
  }
  const start = {
    key: `t1.s${step}.start`,
    type: 'step/start' as const,
    turn: 1,
    step,
    data: { turn: 1, step },
    tokens: 0,
  }
  const end = {
    key: `t1.s${step - 1}.end`,
    type: 'step/end' as const,
    turn: 1,
    step: step - 1,
    data: { turn: 1, step: step - 1 },
    tokens: 0,
  }
  await stage.store.append({ sessionId: SESSION, actor: RUN_1, turn: 1, events: [end, start, reply] })
  await stage.run(RUN_1, 'sessionRunTool', { turn: 1, step, callId: id })
  return (await answersOf(stage)).at(-1) ?? assert.fail('no answer')
}
