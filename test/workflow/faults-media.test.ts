import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import { type ContentBlock, isToolResult, text } from '../../src/shared/session/content.ts'
import {
  call,
  endings,
  type FaultSessions,
  ofType,
  openFaultSessions,
  requestsFor,
  rounds,
  saidIn,
  TIGHT_BYTES,
} from '../support/fault-sessions.ts'
import { png } from '../support/png.ts'

// Theme O: images and documents, whose bytes and shapes a provider refuses, now or later.

let faults: FaultSessions
before(async () => {
  faults = await openFaultSessions()
})
after(() => faults.close())

const done = () => 'Done.'

const refuse = (status: number, message: string): never => {
  throw Object.assign(new Error(`${status} ${message}`), { status })
}

/** A gateway whose limit nobody knows. */
const gateway = (bytes: number, request: ModelRequest) => {
  if (saidIn(request).length > bytes) refuse(413, 'Payload Too Large')
}

const pdf = (title: string, bytes: number): ContentBlock => ({
  type: 'document',
  title,
  source: {
    type: 'base64',
    media_type: 'application/pdf',
    data: Buffer.from(`%PDF-1.4\n/Type /Page \n${' '.repeat(bytes)}%%EOF`).toString('base64'),
  },
})

/** Each image with the path by which the API names it. */
const images = ({ messages }: ModelRequest): { path: string; block: ContentBlock }[] =>
  messages.flatMap(({ content }, message) =>
    content.flatMap((block, index) => {
      const path = `messages.${message}.content.${index}`
      const inner =
        isToolResult(block) && Array.isArray(block.content) ? (block.content as ContentBlock[]) : []
      return [
        ...(block.type === 'image' ? [{ path: `${path}.image`, block }] : []),
        ...inner.flatMap((part, at) =>
          part.type === 'image' ? [{ path: `${path}.tool_result.content.${at}.image`, block: part }] : [],
        ),
      ]
    }),
  )

const base64Of = (block: ContentBlock): string => (block['source'] as { data: string }).data
const widthOf = (block: ContentBlock): number =>
  Buffer.from(base64Of(block).slice(0, 40), 'base64').readUInt32BE(16)

describe('media', { concurrency: 3 }, () => {
  test('fault O01: a gateway refuses the bytes of forty pictures: the oldest leave, every step goes on, and nothing is compacted', async () => {
    const fault = await faults.open(
      {
        window: 400_000,
        reply(request) {
          gateway(2_000_000, request)
          return request.index < 10
            ? { content: [0, 1, 2, 3].map((n) => call(`c${request.index}-${n}`)) }
            : 'Done.'
        },
      },
      {
        work: async (_input, { callId }) => ({
          content: [text(`shot of ${callId}`), png(800, 600, 100_000)],
        }),
      },
    )
    assert.equal((await fault.say('Take all shots.')).reason, 'completed')
    const events = await fault.sound()
    assert.deepEqual(endings(events), [])
    assert.equal(fault.ran.length, 40)
    const last = fault.requests.at(-1) ?? assert.fail('no request')
    const kept = images(last).length
    assert.ok(kept >= 4 && kept < 20, `${kept} pictures are left`)
    assert.match(saidIn(last), /shot of c9-3"},{"type":"image"/, 'the newest is still seen')
    assert.match(
      saidIn(last),
      /shot of c0-0"},{"type":"text","text":"\[image image\/png of \d+ bytes left out/,
    )
  })

  test('fault O01: documents of more bytes than a request takes: the oldest leaves before anything is sent, the new one is read', async () => {
    const fault = await faults.open({ window: 400_000, provider: 'tight', reply: done })
    for (const [title, bytes] of [
      ['one', 1_000_000],
      ['two', 1_000_000],
      ['three', 1_500_000],
    ] as const)
      assert.equal((await fault.say([text(`Read ${title}.`), pdf(title, bytes)])).reason, 'completed')
    const events = await fault.sound()
    assert.deepEqual(endings(events), [])
    assert.ok(fault.requests.every((request) => saidIn(request).length <= TIGHT_BYTES))
    const last = fault.requests.at(-1) ?? assert.fail('no request')
    assert.match(saidIn(last), /\[document application\/pdf \\"one\\" of \d+ bytes left out/)
    assert.deepEqual(last.messages.at(-1)?.content.at(-1)?.type, 'document')
  })

  test('fault O01: a summary whose request has too many bytes is asked for with labels', async () => {
    const fault = await faults.open(
      {
        window: 400_000,
        reply: done,
        summary(request) {
          gateway(300_000, request)
          return 'Pictures were looked at. Next: go on.'
        },
      },
      { policy: { retainTokens: 0 } },
    )
    await fault.seed(rounds(4, 1_000))
    for (const name of ['one', 'two', 'three'])
      await fault.say([text(`See ${name}.`), png(800, 600, 200_000)])
    assert.ok(await fault.session.compactNow())
    assert.deepEqual(endings(await fault.sound()), ['compacted'])
    const [refused, taken, ...others] = requestsFor('summary', fault)
    assert.deepEqual(
      [refused, taken].map((request) => request !== undefined && images(request).length),
      [3, 0],
    )
    assert.deepEqual(others, [])
  })

  test('fault O02: a picture becomes illegal when there are more than twenty: that one leaves, the session goes on', async () => {
    const fault = await faults.open(
      {
        window: 400_000,
        reply(request) {
          const all = images(request)
          const bad = all.length > 20 ? all.find(({ block }) => widthOf(block) > 2_000) : undefined
          if (bad !== undefined)
            refuse(
              400,
              `${bad.path}.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels`,
            )
          return 'Seen.'
        },
      },
      { policy: { retainTokens: 0 } },
    )
    await fault.seed(rounds(4, 1_000))
    assert.equal((await fault.say([text('The plan.'), png(2_500, 100, 500)])).reason, 'completed')
    const many = Array.from({ length: 20 }, () => png(100, 100, 500))
    assert.equal((await fault.say([text('And these.'), ...many])).reason, 'completed')
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    assert.ok(await fault.session.compactNow())
    const events = await fault.sound()
    assert.deepEqual(endings(events), ['compacted'])
    assert.equal(ofType(events, 'compact/prune').length, 1)
    const last = requestsFor('turn', fault).at(-1) ?? assert.fail()
    assert.equal(images(last).length, 20)
    assert.match(saidIn(last), /\[image image\/png of \d+ bytes left out, since the provider refuses it/)
  })

  for (const [how, words] of [
    [
      'by its place in a result',
      (path: string) => `${path}.source.base64: image exceeds 5 MB maximum: 5348312 bytes > 5242880 bytes`,
    ],
    ['without saying which', () => 'Could not process image'],
  ] as const)
    test(`fault O02: a picture of a tool is refused ${how}: it leaves, and the turn goes on`, async () => {
      const fault = await faults.open(
        {
          window: 400_000,
          reply(request) {
            if (request.index === 0) return { content: [call('good'), call('bad')] }
            const bad = images(request).find(({ block }) => base64Of(block).length > 100_000)
            if (bad !== undefined) refuse(400, words(bad.path))
            return 'Seen.'
          },
        },
        {
          work: async (_input, { callId }) => ({
            content: [text(callId), png(100, 100, callId === 'bad' ? 100_000 : 500)],
          }),
        },
      )
      assert.equal((await fault.say('Look.')).reason, 'completed')
      assert.equal((await fault.say('And?')).reason, 'completed')
      const last = fault.requests.at(-1) ?? assert.fail('no request')
      assert.equal(images(last).length, 1)
      assert.match(
        saidIn(last),
        /"bad"},{"type":"text","text":"\[image image\/png of \d+ bytes left out, since/,
      )
    })

  test('fault O04: after a compaction the model is told that a picture is not visible any more, and looks at it again', async () => {
    const logo = png(200, 100, 600)
    const fault = await faults.open(
      {
        window: 400_000,
        reply: ({ index, messages }) => {
          const seq = /newest are in #(\d+)/.exec(JSON.stringify(messages))?.[1]
          if (index !== 1) return index === 0 ? 'A logo.' : 'It was green.'
          return {
            content: [{ type: 'tool_use', id: 'again', name: 'history', input: { seq: Number(seq) } }],
          }
        },
      },
      { policy: { retainTokens: 0 } },
    )
    await fault.seed(rounds(4, 1_000))
    assert.equal((await fault.say([text('This is our logo.'), logo])).reason, 'completed')
    assert.ok(await fault.session.compactNow())
    assert.equal((await fault.say('What colour was the logo?')).reason, 'completed')
    const events = await fault.sound()
    const [asked, shown] = requestsFor('turn', fault).slice(1)
    assert.ok(asked !== undefined && shown !== undefined)
    assert.deepEqual(images(asked), [])
    assert.deepEqual(
      images(shown).map(({ block }) => block),
      [logo],
    )
    assert.equal(ofType(events, 'tool/result')[0]?.data.isError, false)
  })
})
