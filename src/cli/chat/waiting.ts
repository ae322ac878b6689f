import type { Session } from '../../client/index.ts'
import type { InboxRow } from '../../shared/ports/inbox.ts'
import type { SessionStore } from '../../shared/ports/store.ts'
import { type ContentBlock, isText } from '../../shared/session/content.ts'
import { headOf } from '../../shared/session/well-formed.ts'
import { printable } from '../draw-event.ts'

// What was said and has not begun: it waits in the session, and outlives the chat.

/** Oldest first; of all who speak to the session. */
export const waitingPrompts = (store: SessionStore, sessionId: string): Promise<readonly InboxRow[]> =>
  store.inbox(sessionId, { kind: 'prompt', state: 'waiting' })

const SHOWN_CHARS = 100

/** Its beginning, on one line. */
export function beginningOf(content: readonly ContentBlock[]): string {
  const said = content.map((block) => (isText(block) ? block.text : `[${block.type}]`)).join(' ')
  const line = printable(said.replace(/\s+/g, ' ').trim())
  return line.length <= SHOWN_CHARS ? line : `${headOf(line, SHOWN_CHARS)} …`
}

export const textOf = ({ body }: InboxRow): string => beginningOf(body as readonly ContentBlock[])

/** False when it has ended already. One that has just begun is stopped. */
export async function takeBack(session: Session, requestId: string, reason: string): Promise<boolean> {
  const { stopped } = await session.cancelTurn({ requestId, reason })
  return stopped !== 'nothing'
}

/** False when it waits no more: one that has just begun goes on. */
export async function takeBackWaiting(session: Session, requestId: string, reason: string): Promise<boolean> {
  const { stopped } = await session.cancelTurn({ requestId, waitingOnly: true, reason })
  return stopped === 'prompt'
}
