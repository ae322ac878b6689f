import pc from 'picocolors'
import type { Session } from '../../client/index.ts'
import type { SessionRow, SessionStore } from '../../shared/ports/store.ts'
import type { Run } from '../action.ts'
import type { SessionSettings } from '../begin-session.ts'
import { Conversation } from '../chat/conversation.ts'
import { Follower } from '../chat/follower.ts'
import { Lines, standardStreams } from '../chat/lines.ts'
import { openSession } from '../chat/open-session.ts'
import { type Screen, Show } from '../chat/show.ts'
import { textOf, waitingPrompts } from '../chat/waiting.ts'
import { COMMAND } from '../command-name.ts'
import { Interrupted } from '../exit-codes.ts'
import type { Output } from '../output.ts'
import type { Setting } from '../setting.ts'
import { counted } from '../table.ts'

export const chat: Run<SessionSettings> = async (setting, [named], settings) => {
  const id = named ?? newId()
  const stays = `Session ${id} stays: ${named === undefined ? `${COMMAND} chat ${id}` : 'the same command'} comes back to it.`
  const store = await setting.store()
  const session = await openSession(setting, await store.session(id), id, settings)
  const lines = new Lines(standardStreams())
  const leave = new AbortController()
  try {
    await converse({ setting, session, store, lines, leave, stays })
  } finally {
    leave.abort('the end')
    lines.close()
  }
  setting.output.progress(pc.dim(stays))
}

interface Parts {
  readonly setting: Setting
  readonly session: Session
  readonly store: SessionStore
  readonly lines: Lines
  readonly leave: AbortController
  /** Said to who leaves. */
  readonly stays: string
}

/** @throws Interrupted when it was left by Ctrl-C; StoreUnavailable when the store cannot be read any more */
async function converse({ setting, session, store, lines, leave, stays }: Parts): Promise<void> {
  const { id } = session
  const { row } = await setting.stored(id)
  const own = new Set<string>()
  const show = new Show(screenOf(setting.output, lines), own)
  const follower = new Follower(store, id, leave.signal)
  const conversation = new Conversation({
    place: {
      setting,
      session,
      store,
      takenBack: new Set(),
      said: new Set(),
      caughtUp: () => follower.caughtUp(),
    },
    lines,
    show,
    follower,
    own,
    leave,
  })
  const left = new Promise<never>((_, reject) => {
    leave.signal.addEventListener('abort', () =>
      reject(new Interrupted(`Left by ${leave.signal.reason}; what runs goes on. ${stays}`)),
    )
  })
  left.catch(() => undefined) // It may come before anybody waits for it.
  const interrupt = () => conversation.interrupt()
  const terminate = () => leave.abort('SIGTERM')
  lines.onInterrupt(interrupt)
  process.on('SIGINT', interrupt).on('SIGTERM', terminate)
  try {
    show.note(pc.dim(introduction(row)))
    for (const waiting of await waitingPrompts(store, id)) show.note(pc.dim(`(Waits: ${textOf(waiting)})`))
    const following = follower.run(show, await beforeLastTurn(store, id))
    await Promise.race([conversation.run(), following, left])
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', terminate)
  }
}

function introduction({ sessionId, header: { model, provider }, lastTurn }: SessionRow): string {
  const turns = lastTurn === 0 ? '' : `, ${counted(lastTurn, 'turn')} so far`
  const by = model === null ? 'no model' : `${provider}/${model}`
  return `Session ${sessionId}, ${by}${turns}. /help names the commands; Ctrl-C stops a turn, Ctrl-D leaves.`
}

const newId = (): string =>
  `chat-${new Date().toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-')}`

/** Who comes back sees the last turn, and what of it is still to come. */
async function beforeLastTurn(store: SessionStore, sessionId: string): Promise<number> {
  const { head = 0, lastTurn = 0 } = (await store.session(sessionId)) ?? {}
  if (lastTurn === 0) return head - 1
  const [first] = await store.events(sessionId, { turn: lastTurn, limit: 1 })
  return (first?.seq ?? head) - 1
}

/** Answers are the results, everything else is for the error output. With `--json` each answer is printed when it is whole. */
function screenOf({ json }: Output, lines: Lines): Screen {
  if (json) return { say: () => undefined, note: () => undefined }
  return {
    say(text) {
      lines.hidePrompt()
      process.stdout.write(text)
      if (text.endsWith('\n')) lines.showPrompt()
    },
    note(line) {
      lines.hidePrompt()
      console.error(line)
      lines.showPrompt()
    },
  }
}
