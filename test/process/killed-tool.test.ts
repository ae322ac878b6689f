import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { activityTool } from '../../src/worker/index.ts'
import { surviveKill } from '../support/boundary-processes.ts'
import { type Boundary, STEPS, WORDS_TOOL } from '../support/boundary-worker.ts'
import { ofType } from '../support/of-type.ts'
import type { OwnToolStage } from '../support/own-tool-worker.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'
import type { TestWorker } from '../support/temporal.ts'
import { callingModel, callsOf, resultsOf } from '../support/tool-calls.ts'

// A tool that is an activity of the user's own, and a worker that is killed: the session's around the hand-over, the user's in the middle of the work.

const pay = (idempotent: boolean) =>
  activityTool({
    name: idempotent ? 'pay_again' : 'pay_once',
    activity: 'pay',
    taskQueue: `own-${idempotent}-${suffix}`,
    inputSchema: { type: 'object' },
    heartbeatTimeoutMs: 10_000, // A machine that stands still for some seconds is no dead worker.
    idempotent,
  })

const suffix = randomUUID().slice(0, 8)
const tools = [pay(false), pay(true)]
let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: callingModel() }, tools)
})
after(() => real.close())

/** Once it polls; `begun` resolves when its activity runs. */
async function ownWorker(stage: Omit<OwnToolStage, 'address'>) {
  const child: ChildProcess = fork(fileURLToPath(new URL('../support/own-tool-worker.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, OWN_TOOL_STAGE: JSON.stringify({ ...stage, address: real.address }) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const says = (word: string) =>
    new Promise<void>((resolve) => child.on('message', (message) => message === word && resolve()))
  const begun = says('begun')
  await says('ready')
  return {
    begun,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}

describe('a worker is killed around a tool that is an activity', () => {
  const boundaries: readonly Boundary[] = [
    { phase: 'after', activity: 'sessionRunTool', callId: 'call_1' },
    { phase: 'before', activity: 'sessionLandTool', callId: 'call_1' },
  ]
  for (const boundary of boundaries) {
    test(`the session's, ${boundary.phase} ${'activity' in boundary && boundary.activity}: each call has run once, with its result`, {
      timeout: 300_000,
    }, async () => {
      const began: string[] = []
      const own: TestWorker = await real.startWorker({
        activities: {
          async words(input: unknown, { callId }: { callId: string }) {
            began.push(callId)
            return WORDS_TOOL.run(input, {} as never)
          },
        },
      })
      try {
        await surviveKill(
          real,
          { boundary, handedTo: own.taskQueue },
          () => ({}),
          ({ log }) => {
            const ids = Array.from({ length: STEPS }, (_, n) => `call_${n}`)
            assert.deepEqual(began, ids)
            const results = ofType(log, 'tool/result').filter(({ surfaceOp }) => surfaceOp === 'append')
            assert.deepEqual(
              results.map(({ data }) => [data.callId, data.isError]),
              ids.map((id) => [id, false]),
            )
          },
        )
      } finally {
        await own.stop()
      }
    })
  }

  for (const idempotent of [false, true]) {
    test(`the user's, in the middle of the work: ${idempotent ? 'one that is idempotent is run again, under the same key' : 'it is not run again, and the model is told that the outcome is unknown'}`, {
      timeout: 120_000,
    }, async () => {
      const { name, activity } = pay(idempotent)
      const begunPath = join(real.folder, `begun-${name}`)
      writeFileSync(begunPath, '')
      const stage = { taskQueue: activity.taskQueue ?? '', begunPath }
      const doomed = await ownWorker({ ...stage, ends: false })
      const session = await real.start()
      const turn = await session.prompt(callsOf([[name, {}]]))
      await doomed.begun
      await doomed.kill()
      const second = await ownWorker({ ...stage, ends: true })
      try {
        assert.equal((await turn.result({ timeoutMs: 150_000 })).reason, 'completed')
        const [result] = await resultsOf(real, session)
        const key = `${session.id}.t1.s1.tool.c0\n`
        assert.equal(readFileSync(begunPath, 'utf8'), key.repeat(idempotent ? 2 : 1))
        if (idempotent) assert.deepEqual([result?.text, result?.isError], ['paid', false])
        else
          assert.match(
            result?.text ?? '',
            /^Outcome unknown: pay_once may have done its work.*Check what it did/,
          )
      } finally {
        await second.kill()
      }
    })
  }
})
