import { randomUUID } from 'node:crypto'
import type { Session } from '../../client/index.ts'
import { LIMITS } from '../../shared/limits.ts'
import type { SessionStore } from '../../shared/ports/store.ts'
import { COMMAND as CLI } from '../command-name.ts'
import { compactAndShow } from '../commands/compact.ts'
import { context } from '../commands/context.ts'
import { history } from '../commands/history.ts'
import { describeUndone } from '../commands/undo.ts'
import { NotFound, UsageError } from '../exit-codes.ts'
import type { Setting } from '../setting.ts'
import { takeBackWaiting, textOf, waitingPrompts } from './waiting.ts'

export interface CommandPlace {
  readonly setting: Setting
  readonly session: Session
  readonly store: SessionStore
  /** Resolves when what the store holds has been shown. */
  readonly caughtUp: () => Promise<void>
  /** Request ids of what a person has taken back: nobody waits for its answer. */
  readonly takenBack: Set<string>
  /** Request ids of what was said in this chat. */
  readonly said: Set<string>
}

const PIN = `${CLI} pin`

interface SlashCommand {
  readonly words: string
  readonly help: string
  /** The signal aborts at Ctrl-C. */
  run(place: CommandPlace, rest: string, signal: AbortSignal): Promise<void>
}

export const STEER = /^\/steer\s+(?=\S)/
export const CANCEL = /^\/cancel\s*$/
export const QUIT = /^\/(?:quit|exit)\s*$/
/** A message that begins with a path is none. */
const COMMAND = /^\/([a-z]+)(?:\s+([\s\S]*))?$/

const COMMANDS: Readonly<Record<string, SlashCommand>> = {
  compact: {
    words: '/compact [focus]',
    help: `compact now; the checkpoint keeps what the focus says, at most ${LIMITS.focusChars} characters`,
    run: async ({ setting: { output }, session, store, caughtUp }, focus, signal) => {
      if (focus.length > LIMITS.focusChars)
        throw new UsageError(
          `/compact: the focus has ${focus.length} characters, allowed are ${LIMITS.focusChars}: shorten it; what must stay word for word is a matter of ${PIN}.`,
        )
      const request = {
        requestId: randomUUID(),
        whenBusy: 'wait' as const,
        ...(focus === '' ? {} : { focus }),
      }
      return compactAndShow({ output, session, store, caughtUp }, request, signal)
    },
  },
  context: {
    words: '/context',
    help: 'what fills the window now, and what the next compaction would take',
    run: ({ setting, session }) => context(setting, [session.id], {}),
  },
  undo: {
    words: '/undo [compaction]',
    help: 'put back what the newest compaction replaced, or the named one',
    async run({ setting, session }, named, signal) {
      const compactionId = named === '' ? await newestInForce(session) : named
      const undone = await session.undoCompaction(compactionId, { signal })
      setting.output.result({ sessionId: session.id, ...undone }, describeUndone(undone))
    },
  },
  cancel: {
    words: '/cancel',
    help: 'take back what was said last in this chat and still waits; the turn that runs goes on',
    run: (place) => cancelLastSaid(place),
  },
  history: {
    words: '/history',
    help: 'the compactions of this session',
    run: ({ setting, session }) => history(setting, [session.id], { limit: 20 }),
  },
  help: {
    words: '/help',
    help: 'this',
    run: async ({ setting: { output } }) => output.result(helpLines(), HELP_TEXT()),
  },
}

/** What is said to the model. */
export const isSaid = (line: string): boolean => !COMMAND.test(line)

/** Undefined for what is said to the model. @throws UsageError for a command that does not exist */
export function commandOf(
  line: string,
): ((place: CommandPlace, signal: AbortSignal) => Promise<void>) | undefined {
  const [, name, rest = ''] = COMMAND.exec(line) ?? []
  if (name === undefined) return undefined
  const command = COMMANDS[name]
  if (command === undefined)
    throw new UsageError(
      `There is no /${name}: /help names what there is. With a blank before it, it is said to the model.`,
    )
  return (place, signal) => command.run(place, rest.trim(), signal)
}

/** @throws NotFound when nothing of this chat waits; it names what waits of others */
export async function cancelLastSaid({
  setting,
  session,
  store,
  said,
  takenBack,
}: CommandPlace): Promise<void> {
  // One that was taken back stands in the store until the session is at its next step.
  const waiting = (await waitingPrompts(store, session.id)).filter(
    ({ requestId }) => !takenBack.has(requestId),
  )
  for (const row of waiting.toReversed()) {
    const { requestId } = row
    if (!said.has(requestId) || !(await takeBackWaiting(session, requestId, '/cancel'))) continue
    takenBack.add(requestId)
    return setting.output.result({ requestId }, `Taken back: ${textOf(row)}`)
  }
  const others = waiting.findLast(({ requestId }) => !said.has(requestId))
  throw new NotFound(
    others === undefined
      ? 'Nothing waits that could be taken back.'
      : `Nothing waits that was said in this chat. Said elsewhere, and still waiting: ${textOf(others)} (${CLI} cancel ${session.id} --prompt ${others.requestId} takes it back)`,
  )
}

async function newestInForce(session: Session): Promise<string> {
  const newest = (await session.compactions()).find(
    ({ outcome, undoneAt }) => outcome === 'compacted' && undoneAt === undefined,
  )
  if (newest === undefined) throw new NotFound('There is no compaction to undo.')
  return newest.compactionId
}

const helpLines = (): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.values(COMMANDS).map(({ words, help }) => [words, help])),
  '/steer text':
    'say it to the turn that runs, before its next step; otherwise what you say waits in the session for its end',
  '/quit': 'leave, as Ctrl-D does; the session stays, and a turn that runs goes on',
})

const HELP_TEXT = (): string =>
  [
    ...Object.entries(helpLines()).map(([words, help]) => `${words.padEnd(18)} ${help}`),
    'Ctrl-C stops what runs and takes back what you have said meanwhile, twice leaves. A line that ends with \\ goes on in the next one.',
  ].join('\n')
