import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Client, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client'
import { askWorker } from '../../src/client/ask-worker.ts'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import { failsAs } from '../support/fails-as.ts'

const grpc = (code: number) => Object.assign(new Error('Call ended'), { code })

/** A client whose every call fails so. */
function asking(failure: unknown, signal?: AbortSignal) {
  const fails = () => Promise.reject(failure)
  const client = { withDeadline: fails, withAbortSignal: fails } as unknown as Client
  const store = {} as SessionStore
  return askWorker({ client, store, taskQueue: 'q', sessionId: 's1', workerTimeoutMs: 10_000 }, fails, signal)
}

describe('a deadline that passed while the workflow was asked', () => {
  for (const [who, code] of [
    ['our clock', 4],
    ['the server, which was first to end the call', 1],
  ] as const)
    test(`told by ${who}: WorkerUnavailable`, async () => {
      await failsAs('WorkerUnavailable', asking(grpc(code)), /session s1 within 10 s/)
      const wrapped = new WorkflowUpdateRPCTimeoutOrCancelledError('Call cancelled', { cause: grpc(code) })
      await failsAs('WorkerUnavailable', asking(wrapped), /session s1 within 10 s/)
    })

  test('the caller’s own abort keeps its reason; another failure passes through', async () => {
    const reason = new Error('mine')
    await assert.rejects(asking(grpc(1), AbortSignal.abort(reason)), (error) => error === reason)
    const other = grpc(14)
    await assert.rejects(asking(other), (error) => error === other)
  })
})
