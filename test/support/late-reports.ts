import { setTimeout as sleep } from 'node:timers/promises'
import type { PayloadCodec } from '@temporalio/common'
import { Worker, type WorkerOptions } from '@temporalio/worker'

// `LATE_REPORTS=<seed>:<maxMs>[:<maxTaskMs>]` makes every worker of the tests as late as those of a slow machine:
// what an activity has done is reported up to `maxMs` later, and one in four payloads (arguments of activities, results and signals for workflows) comes up to
// `maxTaskMs` later. Without the variable nothing is changed.

const asked = process.env['LATE_REPORTS']
const [seed = 0, maxMs = 0, maxTaskMs = 0] = (asked ?? '').split(':').map(Number)

/** Mulberry32: one seed, one sequence. */
let state = seed
function random(): number {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

function late(options: WorkerOptions): WorkerOptions {
  const slowCodec: PayloadCodec = {
    encode: async (payloads) => payloads,
    async decode(payloads) {
      if (random() < 0.25) await sleep(random() * maxTaskMs)
      return payloads
    },
  }
  return {
    ...options,
    ...(maxTaskMs > 0 && { dataConverter: { ...options.dataConverter, payloadCodecs: [slowCodec] } }),
    interceptors: {
      ...options.interceptors,
      activity: [
        () => ({
          inbound: {
            execute: (input, next) => next(input).finally(() => sleep(random() * maxMs)),
          },
        }),
        ...(options.interceptors?.activity ?? []),
      ],
    },
  }
}

if (asked !== undefined) {
  // Not in what children write.
  if (process.argv[1]?.endsWith('.test.ts')) console.error(`# LATE_REPORTS=${asked}`)
  const create = Worker.create.bind(Worker)
  Worker.create = (options) => create(late(options))
}
