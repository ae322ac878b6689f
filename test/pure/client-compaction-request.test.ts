import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApplicationFailure, type Client, WorkflowUpdateFailedError } from '@temporalio/client'
import { requestCompaction } from '../../src/client/compaction-request.ts'
import type { Receipt } from '../../src/shared/protocol.ts'
import { failsAs } from '../support/fails-as.ts'

// What the server and the workflow answer to an update, without either.

const RECEIPT: Receipt = { requestId: 'r', status: 'queued', stored: false }

function askedOf(answers: readonly (Receipt | ApplicationFailure)[]) {
  const updateIds: unknown[] = []
  const executeUpdate = async (_update: unknown, { updateId }: { updateId: string }) => {
    const answer = answers[updateIds.push(updateId) - 1]
    if (answer instanceof ApplicationFailure) throw new WorkflowUpdateFailedError('failed', answer)
    return answer
  }
  const client = {
    withDeadline: (_deadline: unknown, ask: () => unknown) => ask(),
    workflow: { getHandle: () => ({ executeUpdate }) },
  } as unknown as Client
  const running = requestCompaction(
    { client, taskQueue: 'q', workerTimeoutMs: 10_000, sessionId: 's' },
    { requestId: 'r' },
  )
  return { running, updateIds }
}

const failure = (type: string) => ApplicationFailure.nonRetryable(`it is ${type}`, type)

test('an update that a workflow task passed over is sent again, under its own id', async () => {
  const { running, updateIds } = askedOf([
    failure('UnprocessedUpdate'),
    failure('UnprocessedUpdate'),
    RECEIPT,
  ])
  assert.deepEqual(await running, RECEIPT)
  assert.deepEqual(updateIds, ['r', 'r', 'r'])
})

test('an update that the session refuses is not', async () => {
  const { running, updateIds } = askedOf([failure('KeyConflict'), RECEIPT])
  await failsAs('KeyConflict', running, /it is KeyConflict/)
  assert.equal(updateIds.length, 1)
})
