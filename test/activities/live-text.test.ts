import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActivityDeps } from '../../src/activities/deps.ts'
import { liveText } from '../../src/activities/live-text.ts'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import { eventually } from '../support/eventually.ts'

test('a character that a provider sends in two halves is shown whole, and no text is lost between two batches', async () => {
  const written: string[] = []
  const store: Pick<SessionStore, 'putDelta'> = {
    putDelta: async ({ text }) => {
      written.push(text)
    },
  }
  const live = liveText({ store } as ActivityDeps, 's', 't1.s1.assistant')
  live.add({ text: 'Fine \ud83d' })
  await eventually(
    () => written.length,
    (batches) => batches === 1,
  )
  live.add({ text: '\ude00 and ' })
  live.add({ text: 'more.' })
  await live.end({ keep: true })
  live.add({ text: 'late' })
  await live.end({ keep: true })
  assert.deepEqual(written, ['Fine ', '\u{1f600} and more.'])
})
