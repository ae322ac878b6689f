import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import { type LiveSessions, messagesOf, openLiveSessions } from '../support/anthropic/live-sessions.ts'
import { png } from '../support/png.ts'

// Sides of images that the API refuses, over HTTP: a refused request costs nothing, and a label stands for the image from then on.

let live: LiveSessions
before(async () => {
  live = await openLiveSessions()
})
after(() => live.close())

const look = { content: [text('Seen.')] }
const TURN_MS = { timeoutMs: 90_000 }

async function opened(turns: number) {
  const one = await live.open(Array.from({ length: turns }, () => look))
  const show = async (...content: ContentBlock[]) => {
    const { reason, error } = await (await one.session.prompt(content)).result(TURN_MS)
    assert.deepEqual([reason, error], ['completed', undefined])
    const refused = new Set(live.server.problems.splice(0))
    const blocks = messagesOf(one.received.at(-1) ?? assert.fail('no request')).flatMap(
      ({ content }) => content,
    )
    const images = blocks.filter(({ type }) => type === 'image').length
    const labels = blocks.filter((block) => String(block['text']).startsWith('[image image/png')).length
    return { refused: [...refused], images, labels }
  }
  return show
}

test('fault O02: an image of more than 8,000 pixels becomes a label, the others are seen', async () => {
  const show = await opened(2)
  const first = await show(text('Look.'), png(100, 8_001, 500), png(100, 100, 500), png(9_000, 100, 600))
  assert.equal(first.refused.length, 2)
  for (const problem of first.refused)
    assert.match(problem, /image dimensions exceed max allowed size: 8000 pixels/)
  assert.deepEqual([first.images, first.labels], [1, 2])
  assert.deepEqual(await show(text('And?')), { refused: [], images: 1, labels: 2 })
})

test('fault O02: of many images above 2,000 pixels the oldest leave at once, and not one with each further image', async () => {
  const show = await opened(8)
  const shots = Array.from({ length: 35 }, (_, n) => png(2_500, 100, 400 + n))
  const first = await show(text('Look.'), ...shots)
  assert.deepEqual([first.images, first.labels], [20, 15])
  assert.match(first.refused[0] ?? '', /for many-image requests: 2000 pixels/)
  const next = await show(text('And this.'), png(2_500, 100, 500))
  assert.deepEqual([next.refused.length > 0, next.images, next.labels], [true, 15, 21])
  for (const n of [1, 2, 3, 4, 5]) {
    const seen = { refused: [], images: 15 + n, labels: 21 }
    assert.deepEqual(await show(text('And this.'), png(2_500, 100, 500 + n)), seen)
  }
})
