import { appendFileSync } from 'node:fs'
import { Context } from '@temporalio/activity'
import { NativeConnection, Worker } from '@temporalio/worker'
import { quietRuntime } from './temporal.ts'

// A worker of the user's own in a process of its own: its activity `pay` says that it began, and ends only in the second process.

export interface OwnToolStage {
  readonly address: string
  readonly taskQueue: string
  /** One line for each time that `pay` began. */
  readonly begunPath: string
  /** False: `pay` beats and never ends. */
  readonly ends: boolean
}

async function main(stage: OwnToolStage): Promise<void> {
  quietRuntime()
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address: stage.address }),
    taskQueue: stage.taskQueue,
    maxHeartbeatThrottleInterval: '200ms',
    activities: {
      async pay(_input: unknown, { idempotencyKey }: { idempotencyKey: string }) {
        appendFileSync(stage.begunPath, `${idempotencyKey}\n`)
        process.send?.('begun')
        while (!stage.ends) {
          Context.current().heartbeat()
          await Context.current().sleep(200)
        }
        return 'paid'
      },
    },
  })
  process.once('disconnect', () => process.exit()) // Its test has gone.
  process.send?.('ready')
  await worker.run()
}

if (process.env['OWN_TOOL_STAGE'] !== undefined)
  await main(JSON.parse(process.env['OWN_TOOL_STAGE']) as OwnToolStage)
