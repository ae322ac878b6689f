import assert from 'node:assert/strict'
import type { SearchOptions, SessionStore } from '../../shared/ports/store.ts'
import { text } from '../../shared/session/content.ts'
import type { NewEvent } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import { appendTo, openTurn, SESSION, type StoreTests } from './harness.ts'
import { ATTEMPT_ID, committing, openPlanned, twoMessages } from './sample-attempt.ts'
import {
  assistantMessage,
  checkpoint,
  compactRestore,
  shadowCopy,
  stepStart,
  toolResult,
  userMessage,
} from './sample-events.ts'

const found = async (store: SessionStore, words: string, options?: SearchOptions): Promise<number[]> =>
  (await store.search(SESSION, words, options)).map((event) => event.seq)

/** A step whose model has called a tool by `input`: seq 5 the call, the result is next. */
async function calledStep(store: SessionStore, name: string, input: object): Promise<void> {
  await openTurn(store)
  const reply = assistantMessage(1, 1, 'look', [])
  const call = { type: 'tool_use', id: 'c1', name, input }
  await appendTo(store, 1, [stepStart(1, 1), { ...reply, data: { ...reply.data, content: [call] } }])
}

const output = (words: string): NewEvent<'tool/output'> => ({
  key: keys.toolOutput(1, 1, 'c1'),
  type: 'tool/output',
  turn: 1,
  step: 1,
  data: { callId: 'c1', name: 'read_file', content: [text(words)], droppedBytes: 0 },
  tokens: 0,
})

const matching: StoreTests = {
  'is literal, newest first; letter case and how a letter is composed do not matter': async (store) => {
    await appendTo(store, null, [
      userMessage('a', 'The Café_100% "quoted"\nline'),
      userMessage('b', 'no C:\\\\Temp\\x'),
      userMessage('c', 'the cafe\u0301 of ΟΔΥΣΣΕΥΣ again'),
    ])
    assert.deepEqual(await found(store, 'CAFÉ'), [4, 2])
    assert.deepEqual(await found(store, 'é_1'), [2])
    assert.deepEqual(await found(store, 'fé.100'), [])
    assert.deepEqual(await found(store, '"QUOTED"\nL'), [2], 'characters that JSON escapes')
    assert.deepEqual(await found(store, 'οδυσσευς'), [4], 'both small sigmas')
    assert.deepEqual(await found(store, 'c:/temp/X'), [3], 'slashes of a path, also escaped')
    assert.deepEqual(await found(store, ''), [])
  },
  'gives as many as asked for, behind those to be passed over': async (store) => {
    const notes = Array.from({ length: 50 }, (_, n) => userMessage(`n${n}`, `needle ${n}`))
    await appendTo(store, null, notes)
    assert.deepEqual(await found(store, 'needle', { limit: 2 }), [51, 50])
    assert.deepEqual(await found(store, 'needle', { limit: 2, skip: 48 }), [3, 2])
    assert.deepEqual(await found(store, 'needle', { limit: 2, skip: 50 }), [])
    assert.equal((await found(store, 'needle')).length, 20)
  },
  'reads calls, results and whole outputs, not pictures, and shows a result once': async (store) => {
    await calledStep(store, 'read_file', { path: 'src/needle.ts' })
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'needle' } }
    const result = toolResult(1, 1, 'c1', 'a needle here')
    const cut = { ...result, data: { ...result.data, full: 7 } }
    await appendTo(store, 1, [
      { ...userMessage('z', ''), data: { content: [picture], source: 'import' } },
      output('needle and more'),
      cut,
    ])
    await appendTo(store, 1, shadowCopy(cut, 8, 'a needle'))
    assert.deepEqual(await found(store, 'Needle'), [7, 5])
  },
  'leaves out the calls and results of a tool that is named': async (store) => {
    await calledStep(store, 'history', { query: 'needle' })
    const result = toolResult(1, 1, 'c1', 'a needle here')
    await appendTo(store, 1, [{ ...result, data: { ...result.data, name: 'history' } }])
    assert.deepEqual(await found(store, 'needle'), [6, 5])
    assert.deepEqual(await found(store, 'needle', { exceptTool: 'history' }), [])
  },
}

const LEFT = { left: true }

const leftBehind: StoreTests = {
  'what stands on the surface is no hit; what a checkpoint replaced is, and again not after an undo': async (
    store,
  ) => {
    const planned = await twoMessages(store)
    assert.deepEqual(await found(store, 'hello', LEFT), [])
    await openPlanned(store, planned)
    const made = checkpoint(ATTEMPT_ID, [2, 3])
    await store.commitAttempt(
      committing({ checkpoint: { ...made, data: { ...made.data, content: [text('hello in brief')] } } }),
    )
    assert.deepEqual(await found(store, 'hello', LEFT), [2])
    assert.deepEqual(await found(store, 'hello'), [2, 6], 'the checkpoint is behind what it retells')
    await appendTo(store, null, [compactRestore(ATTEMPT_ID, 6)])
    assert.deepEqual(await found(store, 'hello', LEFT), [6], 'now the checkpoint has left')
  },
  'the original of a shortened result is a hit, and an output that was cut at intake': async (store) => {
    await calledStep(store, 'read_file', {})
    const result = toolResult(1, 1, 'c1', 'a needle here')
    await appendTo(store, 1, [output('the thimble'), result])
    assert.deepEqual(await found(store, 'thimble', LEFT), [6])
    assert.deepEqual(await found(store, 'needle', LEFT), [])
    await appendTo(store, 1, shadowCopy(result, 7, 'cut'))
    assert.deepEqual(await found(store, 'needle', LEFT), [7])
  },
}

/** What `search` finds, and what of it has left the surface. */
export const searchTests: Readonly<Record<string, StoreTests>> = {
  search: matching,
  'search of what left the surface': leftBehind,
}
