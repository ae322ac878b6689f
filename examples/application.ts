// An application: starts a session, prompts it, follows it, compacts it by hand. Beside it runs session-worker.ts.
// Run it twice: the request ids are the same, so nothing is asked or paid a second time.
import { Client, Connection } from '@temporalio/client'
import { ManualCompactionError, SessionClient } from 'durable-compaction'
import { sqliteStore } from 'durable-compaction/store'

const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233' })
const store = sqliteStore({ path: process.env['SESSION_STORE'] ?? 'sessions.db' })
const sessions = new SessionClient({ client: new Client({ connection }), store, taskQueue: 'agents' })

const session = await sessions.start('orders-of-ada', {
  model: 'acme/clerk',
  system: 'You help customers with their orders.',
  tools: ['order_status'],
  policy: { pins: { texts: ['Never promise a delivery date.'] } },
})

// Durable when `prompt` returns. `result` waits in the store: any process may call it, also after a crash.
const turn = await session.prompt('Where are #4711, #4712 and #4713?', { requestId: 'mail-1' })
await follow(turn.seq)
const { reason, message } = await turn.result() // and `usage`, of all its model calls
console.log('answer:', reason, JSON.stringify(message))

const second = await session.prompt('And #4714?', { requestId: 'mail-2' })
await second.result()

try {
  const compaction = await session.compactNow({
    requestId: 'by-hand',
    focus: 'the lockers',
    whenBusy: 'wait',
    signal: AbortSignal.timeout(60_000),
  })
  if (compaction === null) console.log('nothing useful to compact')
  else
    console.log(
      `compacted: ${compaction.shadowedSeqs.length} messages, ${compaction.tokensBefore} → ${compaction.tokensAfter} tokens`,
    )
} catch (error) {
  if (!(error instanceof ManualCompactionError)) throw error
  console.log('not compacted:', error.code, error.message)
}
const compactions = await session.compactions({ limit: 20 }) // newest first, by the store alone
for (const { compactionId, cause, outcome } of compactions)
  console.log('history:', compactionId, cause, outcome)
await store.close()
await connection.close()

/** Events in order as they land, and what the model says: the deltas before an `assistant/message` are all of its text. */
async function follow(after: number): Promise<void> {
  for await (const seen of session.watch({ after })) {
    if (seen.kind === 'delta') process.stdout.write(seen.anew ? `\n(once more) ${seen.text}` : seen.text)
    else
      console.log(
        `${seen.event.type === 'assistant/message' ? '\n' : ''}#${seen.event.seq} ${seen.event.type}`,
      )
    if (seen.kind === 'event' && seen.event.type === 'turn/end') return
  }
}
