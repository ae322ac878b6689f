import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { Show } from '../../src/cli/chat/show.ts'
import { commandOf } from '../../src/cli/chat/slash-commands.ts'
import { counted } from '../../src/cli/table.ts'
import { type Watched, watchSession } from '../../src/client/watch.ts'
import { text } from '../../src/shared/session/content.ts'
import type { NewEvent } from '../../src/shared/session/events.ts'
import { keys } from '../../src/shared/session/keys.ts'
import { AS_OWNER, appendTo, openTurn, SESSION } from '../../src/store/contract/harness.ts'
import { assistantMessage, sampleHeader, stepStart, turnEnd } from '../../src/store/contract/sample-events.ts'
import { sqliteStore } from '../../src/store/index.ts'

// Live text of a reply that never lands: its turn ended first.

const seen = (event: NewEvent): Watched => ({ kind: 'event', event: { ...event, seq: 0, time: 0 } })

test('a chat shows an answer once, whatever was shown of the cancelled reply before it', () => {
  let screen = ''
  const show = new Show(
    {
      say: (words) => {
        screen += words
      },
      note: (line) => {
        screen += `<${stripVTControlCharacters(line)}>\n`
      },
    },
    new Set(),
  )
  const late: Watched = { kind: 'delta', key: keys.assistant(1, 1), text: 'I will now' }
  const next: Watched = { kind: 'delta', key: keys.assistant(2, 1), text: 'Second ans' }
  const rest: Watched = { kind: 'delta', key: keys.assistant(2, 1), text: 'wer.' }
  const landed = seen(assistantMessage(2, 1, 'Second answer.'))
  for (const each of [seen(stepStart(1, 1)), late, seen(turnEnd(1)), late]) show.add(each)
  for (const each of [seen(stepStart(2, 1)), next, rest, landed, seen(turnEnd(2))]) show.add(each)
  assert.equal(screen, 'I will now\nI will now\nSecond answer.\n')
  screen = ''
  const broken: Watched = { kind: 'delta', key: keys.assistant(3, 1), text: 'Third' }
  const anew: Watched = { kind: 'delta', key: keys.assistant(3, 1), text: 'Three.', anew: true }
  for (const each of [broken, anew, seen(assistantMessage(3, 1, 'Three.')), seen(turnEnd(3))]) show.add(each)
  assert.equal(screen, 'Third\n<(The reply begins anew.)>\nThree.\n')
})

test('a watcher gets no text of a turn that has ended, also when some was left in the store', async () => {
  const store = sqliteStore({ path: ':memory:' })
  await store.createSession({ ...AS_OWNER, lifeRunId: 'run-1', header: sampleHeader() })
  await openTurn(store)
  await appendTo(store, 1, [stepStart(1, 1)])
  await store.putDelta({ sessionId: SESSION, key: keys.assistant(1, 1), index: 0, text: 'I will now' })
  await store.endTurn({ ...AS_OWNER, turn: 1, reason: 'aborted' })
  const leave = new AbortController()
  const watching = watchSession(store, SESSION, { signal: leave.signal })
  for await (const each of { [Symbol.asyncIterator]: () => ({ next: () => watching.next() }) })
    if (each.kind === 'event' && each.event.type === 'turn/end') break
  await store.startTurn({
    ...AS_OWNER,
    requestId: 'r2',
    messages: [{ requestId: 'r2', content: [text('again')], source: 'prompt', tokens: 2 }],
  })
  const { value } = await watching.next()
  assert.equal(value?.kind === 'event' && value.event.type, 'turn/start')
  leave.abort()
  await watching.next()
  await store.close()
})

test('a focus that is too long is told with its length and the limit, before anything is asked', async () => {
  const compact = commandOf(`/compact ${'x'.repeat(900)}`)
  const place = { setting: {} } as Parameters<NonNullable<typeof compact>>[0]
  await assert.rejects(async () => compact?.(place, new AbortController().signal), {
    name: 'UsageError',
    message: /^\/compact: the focus has 900 characters, allowed are 800: shorten it/,
  })
})

test('one is no plural', () => {
  assert.deepEqual(
    [counted(0, 'turn'), counted(1, 'turn'), counted(1_200, 'turn')],
    ['0 turns', '1 turn', '1,200 turns'],
  )
})
