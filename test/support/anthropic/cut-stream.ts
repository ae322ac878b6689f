import assert from 'node:assert/strict'
import { Anthropic } from '@anthropic-ai/sdk'
import { ApplicationFailure } from '@temporalio/common'
import type { ContentBlock } from '../../../src/shared/session/content.ts'
import { anthropicModels } from '../../../src/worker/index.ts'
import { type ActivityStage, openStage, SESSION } from '../activity-stage.ts'
import { sse, streamEvents } from './stream-events.ts'

// A streamed reply that is cut at a byte, without a server: the official SDK gets it from a fetch of the test.

export const bytesOf = (content: readonly ContentBlock[]) =>
  Buffer.from(sse(streamEvents({ content, model: 'm' })))

/** Index of the first byte after which the message is there: behind the data of its last event. */
export const wholeFrom = (bytes: Buffer): number =>
  bytes.lastIndexOf('"message_stop"}') + '"message_stop"}'.length

/** What the network does behind the last byte that comes. */
export type End = 'ends' | 'breaks'

/**
 * Every cut before the message is there: each byte, where the connection ends and breaks in turn, and both at the end of each line, where readers of such
 * streams look.
 */
export function cutsOf(bytes: Buffer): { readonly at: number; readonly end: End }[] {
  const newLine = '\n'.charCodeAt(0)
  return Array.from({ length: wholeFrom(bytes) }, (_, at) => at).flatMap((at) => {
    const ends: End[] = bytes[at - 1] === newLine ? ['ends', 'breaks'] : [at % 2 === 0 ? 'ends' : 'breaks']
    return ends.map((end) => ({ at, end }))
  })
}

export function cutResponse(bytes: Uint8Array, end: End, chunk = bytes.length): Response {
  let at = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at < bytes.length) controller.enqueue(bytes.subarray(at, at + chunk))
        else if (end === 'ends') controller.close()
        else controller.error(new TypeError('terminated'))
        at += chunk
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: { 'content-type': 'text/event-stream', 'request-id': 'req_1' } })
}

export interface FarEnd {
  answer: () => Response
}

/** A session with the tool `look`, whose model is the live client with that far end. */
export async function openCutStage(far: FarEnd): Promise<ActivityStage> {
  const capacity = { id: 'm', max_input_tokens: 100_000, max_tokens: 4_000 }
  const fetch = async (url: unknown) =>
    String(url).includes('/models/') ? Response.json(capacity) : far.answer()
  const model = anthropicModels(new Anthropic({ apiKey: 'k', baseURL: 'http://far.test', fetch }))
  const look = {
    name: 'look',
    description: 'Looks.',
    input: { jsonSchema: { type: 'object' } },
    run: async () => '',
  }
  return openStage({ model, tools: [look] })
}

/** Nothing landed; Temporal may try again. */
export async function failsForRetry(attempt: Promise<unknown>, where: string): Promise<void> {
  const failure = await attempt.then(
    () => assert.fail(`${where}: it landed`),
    (error: unknown) => error,
  )
  assert.ok(failure instanceof ApplicationFailure, `${where}: ${failure}`)
  const { type, nonRetryable } = failure
  assert.deepEqual([type, nonRetryable ?? false], ['ModelFailed', false], `${where}: ${failure}`)
}

export const surfaceOf = async ({ store }: ActivityStage) =>
  JSON.stringify((await store.surface(SESSION)).nodes)
