import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import { NativeConnection, Worker } from '@temporalio/worker'
import { type Cost, costPerStep, historyOf } from './history-size.ts'

const STEPS = 4
const ANSWER = ' word'.repeat(20)

/** Cost of a step when the whole conversation travels in the activity's input; null when Temporal refuses it. */
export async function wholeTranscriptCost(address: string, contextTokens: number): Promise<Cost | null> {
  const taskQueue = `whole-${randomUUID().slice(0, 8)}`
  const connection = await NativeConnection.connect({ address })
  const clientConnection = await Connection.connect({ address })
  const worker = await Worker.create({
    connection,
    taskQueue,
    identity: 'dc',
    workflowsPath: fileURLToPath(new URL('./whole-transcript.workflow.ts', import.meta.url)),
    activities: { generate: async () => ANSWER, runTool: async () => ANSWER },
  })
  const client = new Client({ connection: clientConnection })
  try {
    return await worker.runUntil(async () => {
      const workflowId = `whole-${randomUUID().slice(0, 8)}`
      const handle = await client.workflow.start('wholeTranscript', {
        workflowId,
        taskQueue,
        args: [contextTokens, STEPS + 1],
      })
      const refused = setTimeout(() => void handle.terminate('refused'), REFUSED_MS)
      const isDone = await handle.result().then(
        () => true,
        () => false,
      )
      clearTimeout(refused)
      return isDone ? costPerStep(await historyOf(client, workflowId), 'generate', STEPS) : null
    })
  } finally {
    await clientConnection.close()
    await connection.close()
  }
}

/** A workflow task with too large a command is tried again and again: by then it has been refused. */
const REFUSED_MS = 15_000
