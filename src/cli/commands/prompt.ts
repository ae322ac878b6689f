import { text as textOf } from 'node:stream/consumers'
import type { Turn, TurnResult } from '../../client/index.ts'
import { watchSession } from '../../client/watch.ts'
import type { Delivery } from '../../shared/ports/inbox.ts'
import type { SessionStore } from '../../shared/ports/store.ts'
import { isText } from '../../shared/session/content.ts'
import { promptProblem } from '../../shared/session/prompt-content.ts'
import type { Run } from '../action.ts'
import { COMMAND } from '../command-name.ts'
import { drawProgress } from '../draw-event.ts'
import { EXIT, Interrupted, UsageError } from '../exit-codes.ts'
import { untilInterrupted } from '../interrupt.ts'
import type { Output } from '../output.ts'

export interface PromptOptions {
  readonly id?: string
  readonly delivery: Delivery
  readonly detach?: boolean
}

export const prompt: Run<PromptOptions> = async (setting, [id = '', words = ''], options) => {
  const { output } = setting
  const content = words === '-' ? (await textOf(process.stdin)).replace(/\n$/, '') : words
  const problem = promptProblem(content)
  if (problem !== undefined) throw new UsageError(`prompt: ${problem}`)
  const session = (await setting.sessions()).get(id)
  const { store, row } = await setting.stored(id)
  const turn = await session.prompt(content, {
    delivery: options.delivery,
    ...(options.id === undefined ? {} : { requestId: options.id }),
  })
  if (options.detach || options.delivery === 'no-wake') {
    const { requestId } = turn
    return output.result(
      { requestId, accepted: true },
      `Accepted as ${requestId}. Its answer, when it has come: ${COMMAND} transcript ${id}`,
    )
  }
  const result = await answerOf(turn, { store, sessionId: id, after: row.head - 1, output })
  output.result({ requestId: turn.requestId, ...result }, textIn(result))
  if (result.reason === 'completed') return
  output.progress(`The turn ended: ${result.reason}${result.error === undefined ? '' : `: ${result.error}`}`)
  process.exitCode = EXIT.failed
}

interface Wait {
  readonly store: SessionStore
  readonly sessionId: string
  readonly after: number
  readonly output: Output
}

/** Waits, and shows what happens meanwhile. @throws Interrupted */
async function answerOf(turn: Turn, wait: Wait): Promise<TurnResult> {
  const interrupted = untilInterrupted()
  const done = new AbortController()
  const progress = showProgress(wait, AbortSignal.any([interrupted, done.signal]))
  try {
    return await turn.result({ signal: interrupted })
  } catch (error) {
    if (!interrupted.aborted) throw error
    throw new Interrupted(
      `The turn goes on without you. Follow it: ${COMMAND} watch ${wait.sessionId} --after ${wait.after}; stop it: ${COMMAND} cancel ${wait.sessionId} --prompt ${turn.requestId}`,
    )
  } finally {
    done.abort()
    await progress
  }
}

const SAY_WAITING_MS = 2_000
/** A worker that runs takes a prompt within a second. */
const NO_WORKER_MS = 10_000

async function showProgress({ store, sessionId, after, output }: Wait, signal: AbortSignal): Promise<void> {
  if (output.json) return
  const waiting = setTimeout(
    () => output.progress('Waiting for the answer; Ctrl-C leaves the turn running.'),
    SAY_WAITING_MS,
  )
  const nobody = setTimeout(() => {
    output.progress(
      `Nothing has happened for ${NO_WORKER_MS / 1000} s. The prompt waits in the store; does a worker run? (${COMMAND} state ${sessionId})`,
    )
  }, NO_WORKER_MS)
  try {
    for await (const seen of watchSession(store, sessionId, { after, signal })) {
      clearTimeout(nobody)
      const line = seen.kind === 'event' ? drawProgress(seen.event) : undefined
      if (line !== undefined) output.progress(line)
    }
  } finally {
    clearTimeout(waiting)
    clearTimeout(nobody)
  }
}

const textIn = ({ message }: TurnResult): string =>
  (message ?? [])
    .filter(isText)
    .map((block) => block.text)
    .join('\n')
