import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow'
import type { ConfigureMessage, PinMessage, UndoMessage, UnpinMessage } from '../shared/control-protocol.ts'
import {
  type CancelCompaction,
  type CancelReceipt,
  type CancelTurn,
  type CloseRequest,
  type CompactionRecord,
  type CompactionRequest,
  type PromptMessage,
  QUERIES,
  type Reading,
  type Receipt,
  type SessionState,
  SIGNALS,
  UPDATES,
} from '../shared/protocol.ts'

// The messages of a session as the SDK's `define…` objects, for plain workflow handles. Runs in the sandbox and in Node.

/** Queues a prompt. Without an answer: what the session refuses is counted in {@link sessionStateQuery}. */
export const promptSignal = defineSignal<[PromptMessage]>(SIGNALS.prompt)
/** Asks for a compaction; waits for the next step boundary unless `whenBusy` is `refuse`. */
export const requestCompactionSignal = defineSignal<[CompactionRequest]>(SIGNALS.requestCompaction)
/** Ends the running turn as `aborted`, or withdraws the waiting prompt that `requestId` names. */
export const cancelTurnSignal = defineSignal<[CancelTurn]>(SIGNALS.cancelTurn)
/** Takes one request back; the attempt is cancelled when nobody else asked for it. */
export const cancelCompactionSignal = defineSignal<[CancelCompaction]>(SIGNALS.cancelCompaction)
/** Closes the session after the running turn. Waiting prompts stay in the inbox. */
export const closeSignal = defineSignal<[CloseRequest]>(SIGNALS.close)

/**
 * Pins a text, or the text of a message by its seq, from the next checkpoint on, all together at most 2,000 tokens. A request that is refused later leaves its reason in
 * the store's inbox.
 */
export const pinSignal = defineSignal<[PinMessage]>(SIGNALS.pin)
/** Takes a pin back by its id: the `requestId` that pinned it, or `keep.<seq>.<n>`. */
export const unpinSignal = defineSignal<[UnpinMessage]>(SIGNALS.unpin)

/** As {@link promptSignal}, with a receipt. Needs a `requestId`. */
export const submitPromptUpdate = defineUpdate<Receipt, [PromptMessage]>(UPDATES.submitPrompt)
/** As {@link requestCompactionSignal}, with a receipt; refuses when busy unless `whenBusy` is `wait`. Needs a `requestId`. */
export const submitCompactionUpdate = defineUpdate<Receipt, [CompactionRequest]>(UPDATES.submitCompaction)
/** Puts the messages that a compaction replaced back to their place, at the next step boundary. Needs a `requestId`; the receipt says that it was taken, not that it is done. */
export const undoCompactionUpdate = defineUpdate<Receipt, [UndoMessage]>(UPDATES.undoCompaction)
/** Another model, system prompt, tools or policy, from the next step boundary on. Needs a `requestId`; a receipt as for {@link undoCompactionUpdate}. */
export const configureUpdate = defineUpdate<Receipt, [ConfigureMessage]>(UPDATES.configure)

/** As {@link cancelTurnSignal}; the answer says what was stopped. */
export const cancelTurnUpdate = defineUpdate<CancelReceipt, [CancelTurn]>(UPDATES.cancelTurn)
/** As {@link cancelCompactionSignal}; the answer says what was stopped. */
export const cancelCompactionUpdate = defineUpdate<CancelReceipt, [CancelCompaction]>(
  UPDATES.cancelCompaction,
)

export const sessionStateQuery = defineQuery<SessionState>(QUERIES.sessionState)
/** The newest compactions of the session, newest first, a running one included. All of them are in the store. */
export const compactionHistoryQuery = defineQuery<readonly CompactionRecord[]>(QUERIES.compactionHistory)
/** The newest reading, or null before the first. */
export const contextReadingQuery = defineQuery<Reading | null>(QUERIES.contextReading)
