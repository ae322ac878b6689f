// A snippet of README, which a test holds against this file. application.ts is the whole program.
import type { Client } from '@temporalio/client'
import { SessionClient, type Watched } from 'durable-compaction'
import { sqliteStore } from 'durable-compaction/store'

const store = sqliteStore({ path: 'sessions.db' })
const sessions = new SessionClient({ client, store, taskQueue: 'agents' }) // client: Temporal's
const session = await sessions.start('orders-of-ada', { model: 'acme/clerk', tools: ['order_status'] })

const turn = await session.prompt('Where is #4711?', { requestId: 'mail-1' }) // durable when it returns; the id is its key
const { reason, message, usage } = await turn.result() // from any process: sessions.get(id).turn(requestId).result()

const compaction = await session.compactNow({ focus: 'the lockers', whenBusy: 'wait', signal }) // null: nothing to take
for await (const seen of session.watch({ after: turn.seq, signal })) render(seen) // events in order; text as it is said, all of it
const compactions = await session.compactions({ limit: 20 }) // newest first, by the store alone
const { total } = await session.usage() // every paid call, also those of compactions and those that failed, and its price
const handle = session.workflow // Temporal's, for everything else

declare const client: Client
declare const signal: AbortSignal
declare function render(seen: Watched): void

export { compaction, compactions, handle, message, reason, total, usage }
