import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isCompactCheckpointSource } from '../../src/shared/checkpoint-source.ts'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import type { ContentBlock } from '../../src/shared/session/content.ts'
import { SESSION } from '../support/activity-stage.ts'
import { ofType } from '../support/of-type.ts'
import { openStagedSession, type StagedSession } from '../support/staged-session.ts'

// Theme I: tasks, rules and facts that compactions lose.

const W = 16_000
const words = (tokens: number): string => 'word '.repeat(tokens).trim()

const tool = (name: string, run: Tool['run']): Tool => ({
  name,
  description: name,
  input: { jsonSchema: { type: 'object' } },
  run,
})
const call = (id: string, name: string, input: object = {}): ContentBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
})

const saidIn = ({ messages }: Pick<ModelRequest, 'messages'>): string => JSON.stringify(messages)
const lastSaid = ({ requests }: StagedSession): string => saidIn(requests.at(-1) as ModelRequest)
const summaries = ({ requests }: StagedSession) => requests.filter(({ purpose }) => purpose === 'summary')
const surfaceOf = async ({ stage }: StagedSession) => (await stage.store.surface(SESSION)).nodes

test('fault I06: the list of tasks, a loaded skill and the goal are older than every cut: all are in the next request, and what is too large is named', async () => {
  const skill = `# Releases\nTag with v1.2.3-rc.4, then call \`ship --dry-run\`.\n${words(1_700)}`
  const todos = [
    { content: 'Write the changelog', status: 'completed' },
    { content: 'Rename the flag --quiet to --silent', status: 'in_progress' },
    { content: 'Publish the release notes', status: 'pending' },
  ]
  const first = [
    call('s1', 'load_skill', { name: 'releases' }),
    call('s2', 'load_skill', { name: 'huge' }),
    call('t1', 'write_todos', { todos }),
  ]
  const session = await openStagedSession({
    window: 2 * W,
    policy: { pins: { tools: ['load_skill'] } },
    tools: [
      tool('load_skill', async (input) =>
        (input as { name: string }).name === 'huge' ? words(2_200) : skill,
      ),
      tool('write_todos', async () => 'ok'),
      tool('work', async () => words(1_500)),
    ],
    reply: ({ index }) =>
      index === 0 ? { content: first } : index < 45 ? { content: [call(`w${index}`, 'work')] } : 'Released.',
    summary: 'Work goes on.',
  })
  await session.say('Release version 1.2.3 <keep>never on a Friday</keep>.')
  const compacted = session.outcomes.filter(({ outcome }) => outcome === 'compacted')
  assert.ok(compacted.length >= 2, `${compacted.length} compactions`)
  const nodes = await surfaceOf(session)
  assert.ok(
    nodes.every(({ data }) => !('callId' in data) || !/^[st]\d$/.test(data.callId)),
    'none of the messages is left',
  )
  const said = lastSaid(session)
  for (const kept of [
    'Release version 1.2.3 ',
    'never on a Friday',
    JSON.stringify(skill).slice(1, -1),
    '[~] Rename the flag --quiet to --silent',
    '[ ] Publish the release notes',
  ])
    assert.ok(said.includes(kept), kept)
  assert.ok(!said.includes('[ ] Write the changelog'))
  const [checkpoint] = ofType(await session.sound(), 'user/message').filter(({ data }) =>
    isCompactCheckpointSource(data.source),
  )
  assert.match(JSON.stringify(checkpoint?.data), /1 pin left out for their size: result of load_skill/)
})

test('fault I09: eight facts of the first turn, after six compactions and forty-eight turns by a summarizer that only speaks of labels', async () => {
  const facts = [
    'order 7f3a-91cc-20be',
    'shipped 2031-04-17',
    'region eu-north-9',
    'ticket OPS-48213',
    'host db-replica-07',
    'port 54871',
    'commit 9d41f0aa7c35',
    'invoice INV-60417',
  ]
  const session = await openStagedSession({
    window: W,
    tools: [tool('look_up', async () => facts.slice(4).join('\n'))],
    reply: ({ index }) =>
      index === 0 ? { content: [call('l1', 'look_up')] } : `Reply ${index}. ${words(120)}`,
    summary: 'The user gave an order with its date and region, and facts were looked up. Next: go on.',
  })
  await session.say(`Remember: ${facts.slice(0, 4).join(', ')}. Look up the others.`)
  for (let round = 0; round < 6; round++) {
    for (let n = 0; n < 8; n++) await session.say(`Filler ${round}.${n}.`)
    assert.equal((await session.compact()).outcome, 'compacted')
  }
  await session.say('What were the facts?')
  const values = facts.map((fact) => fact.split(' ').at(-1) ?? '')
  const said = lastSaid(session)
  assert.deepEqual(
    values.filter((value) => !said.includes(value)),
    [],
  )
  await session.sound()
})

describe('fault I12: every answer has calls, and the summarizer gets a line of each message', () => {
  const STEPS = 14
  const open = (summarizer: object) =>
    openStagedSession({
      window: W,
      smallWindow: 6_000,
      policy: { auto: false, ...summarizer },
      tools: [tool('work', async (input) => `result of ${(input as { mark: string }).mark} ${words(400)}`)],
      reply: ({ index }) =>
        index < STEPS ? { content: [call(`c${index}`, 'work', { mark: `mark-${index}-` })] } : 'All is done.',
    })
  for (const [how, summarizer, calls] of [
    ['in one call', {}, 1],
    ['in parts', { summarizer: { provider: 'scripted', model: 'small' } }, 2],
  ] as const) {
    test(how, async () => {
      const session = await open(summarizer)
      await session.say('Work through all of it.')
      assert.equal((await session.compact()).outcome, 'compacted')
      assert.ok(summaries(session).length >= calls)
      const read = summaries(session).map(saidIn).join()
      const [summary] = ofType(await session.sound(), 'compact/summary')
      const span = summary?.data.shadowedSeqs.length ?? 0
      assert.ok(span >= 2 * STEPS)
      for (let n = 0; n < STEPS; n++) {
        assert.ok(read.includes(`"mark":"mark-${n}-"`), `call ${n}`)
        assert.ok(read.includes(`result of mark-${n}-`), `result ${n}`)
      }
      assert.ok(read.includes('Work through all of it.'))
    })
  }
})

// Frame and headings stay English, whatever the session speaks: they are for a model, and say so themselves.
describe('fault I08: the language of the conversation is that of the user’s own words', () => {
  for (const [language, said, reply] of [
    ['Portuguese', 'Corrija o relatório de vendas, por favor', 'Corrigi mais uma seção do relatório.'],
    ['Japanese', '売上レポートを直してください', 'レポートの一部を直しました。'],
    [
      'another one than asked for',
      'Fix the sales report. Responde siempre en español',
      'Corregí otra sección.',
    ],
  ] as const) {
    test(`${language}, after twenty turns and two compactions`, async () => {
      const session = await openStagedSession({
        window: W,
        reply: () => `${reply} ${reply.repeat(12)}`,
        summary: reply,
      })
      for (let turn = 0; turn < 20; turn++) {
        await session.say(`${said} (${turn})`)
        if (turn % 10 === 9) assert.equal((await session.compact()).outcome, 'compacted')
      }
      await session.say(`${said} (20)`)
      const read = lastSaid(session)
      for (const words of [`${said} (0)`, `${said} (18)`, reply]) assert.ok(read.includes(words), words)
      assert.match(read, /go on from here, in the language of the user's own words/)
      for (const summary of summaries(session))
        assert.match(saidIn(summary), /plain text in the language that the user writes/)
      await session.sound()
    })
  }
})
