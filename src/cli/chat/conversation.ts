import { randomUUID } from 'node:crypto'
import pc from 'picocolors'
import type { CancelReceipt, Turn } from '../../client/index.ts'
import type { Delivery } from '../../shared/ports/inbox.ts'
import { promptContent, promptProblem } from '../../shared/session/prompt-content.ts'
import { COMMAND } from '../command-name.ts'
import { EXIT, exitCodeOf, failureText, UsageError } from '../exit-codes.ts'
import type { Follower } from './follower.ts'
import type { Lines } from './lines.ts'
import type { Show } from './show.ts'
import {
  CANCEL,
  type CommandPlace,
  cancelLastSaid,
  commandOf,
  isSaid,
  QUIT,
  STEER,
} from './slash-commands.ts'
import { beginningOf, takeBack } from './waiting.ts'

/** What runs because a person asked for it. */
interface Work {
  stop(): void | Promise<void>
  isStopping: boolean
}

interface Said {
  readonly requestId: string
  readonly text: string
  readonly turn: Promise<Turn>
}

/** The session takes 100 waiting prompts of all who speak to it; a file may have more lines. */
const MOST_AHEAD = 20
const CTRL_C = 'Ctrl-C'
const isBlank = (line: string): boolean => line.trim() === ''
/** A worker that runs takes a prompt within a second. */
const NO_WORKER_MS = 10_000

export interface ConversationParts {
  readonly place: CommandPlace
  readonly lines: Lines
  readonly show: Show
  readonly follower: Follower
  /** Request ids of what this person said. */
  readonly own: Set<string>
  /** Aborts when the chat is left; nothing is waited for any more. */
  readonly leave: AbortController
}

/** Reads, says, waits and shows, one message after the other. */
export class Conversation {
  readonly #parts: ConversationParts
  #work: Work | null = null
  /** Messages that wait in the session, in order. */
  readonly #ahead: Said[] = []
  #sending: Promise<unknown> = Promise.resolve()
  #cancelling: Promise<void> = Promise.resolve()
  #stoppedTurn: number | null = null
  #isWarned = false

  constructor(parts: ConversationParts) {
    this.#parts = parts
    parts.lines.onMessage = () => this.#onMessage()
  }

  /** Until the input ends; a pipe that nobody serves is not read on. */
  async run(): Promise<void> {
    const { lines, leave } = this.#parts
    for (;;) {
      const ahead = this.#ahead[0]
      if (ahead !== undefined) {
        if (!(await this.#attempt(() => this.#answered(ahead)))) return
        continue
      }
      const line = await lines.next()
      this.#isWarned = false
      if (line === undefined || QUIT.test(line) || leave.signal.aborted) return
      if (isBlank(line)) continue
      if (!(await this.#attempt(() => this.#handle(line)))) return
    }
  }

  /** False when nothing more is to be read. */
  async #attempt(run: () => Promise<void>): Promise<boolean> {
    const { lines, leave } = this.#parts
    try {
      await run()
      return true
    } catch (error) {
      if (leave.signal.aborted) return false
      this.#report(error)
      return lines.isTerminal || exitCodeOf(error) !== EXIT.unreachable
    }
  }

  /** The first one stops what runs, the next one leaves. */
  interrupt(): void {
    const { follower, show, lines, leave } = this.#parts
    const { openTurn } = follower
    if (this.#work !== null && !this.#work.isStopping) this.#stop(this.#work)
    else if (this.#work === null && openTurn !== null && openTurn !== this.#stoppedTurn) {
      this.#stoppedTurn = openTurn
      const stop = async () => {
        await this.#cancel({ turn: openTurn })
      }
      this.#stop({ stop, isStopping: false })
    } else if (this.#work === null && lines.isTerminal && !this.#isWarned) {
      this.#isWarned = true
      show.note(pc.dim('Ctrl-C again leaves.'))
    } else leave.abort(CTRL_C)
  }

  #stop(work: Work): void {
    work.isStopping = true
    this.#parts.show.note(pc.dim('Stopping. Ctrl-C again leaves without waiting for it.'))
    this.#dropQueued()
    void Promise.resolve(work.stop()).catch((error: unknown) => this.#report(error))
  }

  async #handle(line: string): Promise<void> {
    const { place, follower } = this.#parts
    const command = STEER.test(line) ? undefined : commandOf(line)
    if (command === undefined) return this.#say(line.replace(STEER, ''))
    const stop = new AbortController()
    await this.#during({ stop: () => stop.abort(CTRL_C), isStopping: false }, async () => {
      this.#takeNow()
      await command(place, stop.signal).finally(() => follower.caughtUp())
    })
  }

  async #say(text: string): Promise<void> {
    const problem = promptProblem(text)
    if (problem !== undefined) throw new UsageError(problem)
    const said = this.#send(text)
    this.#parts.own.add(said.requestId)
    this.#ahead.push(said)
    await this.#answered(said)
  }

  /** One after the other, in the order in which they were said. */
  #send(text: string, delivery: Delivery = 'next-turn'): Said {
    const { session, said } = this.#parts.place
    const requestId = randomUUID()
    said.add(requestId)
    const turn = this.#sending.then(() => session.prompt(text, { requestId, delivery }))
    this.#sending = turn.catch(() => undefined)
    return { requestId, text, turn }
  }

  /** Waits for the answer to the oldest message that has none. */
  async #answered(said: Said): Promise<void> {
    const { place, follower, leave } = this.#parts
    const { requestId } = said
    await this.#during({ stop: () => this.#stopAll(), isStopping: false }, async () => {
      try {
        const turn = await said.turn
        this.#sayAhead()
        while (this.#takeNow()) this.#sayAhead()
        if (place.takenBack.has(requestId)) return
        const nobody = setTimeout(() => this.#sayNobody(), NO_WORKER_MS)
        const result = await turn.result({ signal: leave.signal }).finally(() => clearTimeout(nobody))
        await follower.caughtUp()
        if (place.setting.output.json) place.setting.output.result({ requestId, ...result }, '')
        if (result.reason !== 'completed') this.#failed(EXIT.failed)
      } catch (error) {
        await this.#cancelling // What it has taken back may be known here before it has its receipt.
        if (!place.takenBack.has(requestId)) throw error
      } finally {
        this.#ahead.shift()
      }
    })
  }

  /** What comes while a message is answered waits in the session, where it outlives this process. What stands behind a command waits for that. */
  #sayAhead(): void {
    const { lines, show } = this.#parts
    while (this.#ahead.length > 0 && this.#ahead.length <= MOST_AHEAD) {
      const text = lines.takeIf(
        (line) => isBlank(line) || (isSaid(line) && promptProblem(line) === undefined),
      )
      if (text === undefined) return
      if (isBlank(text)) continue
      const said = this.#send(text)
      this.#ahead.push(said)
      const waits = pc.dim(`(Waits: ${beginningOf(promptContent(text))})`)
      void said.turn.then(
        () => show.note(waits),
        () => undefined, // Told when its turn would come.
      )
    }
  }

  /** The turn that runs, and what was said meanwhile: otherwise it would begin now. */
  async #stopAll(): Promise<void> {
    const { takenBack } = this.#parts.place
    const [oldest, ...waiting] = this.#ahead
    for (const { requestId } of waiting) takenBack.add(requestId)
    await this.#sending
    const stopping: Promise<unknown>[] = waiting.toReversed().map(async (said) => {
      if (await takeBack(this.#parts.place.session, said.requestId, CTRL_C)) this.#noteTakenBack(said.text)
    })
    const before = oldest === undefined ? null : this.#stopOldest(oldest)
    const [turn] = await Promise.all([before, ...stopping])
    if (turn === null) return
    this.#stoppedTurn = turn
    await this.#cancel({ turn })
  }

  /** Stops its turn. One that waits is taken back. @returns the turn of before that it waited for */
  async #stopOldest({ requestId, text }: Said): Promise<number | null> {
    const { place, follower } = this.#parts
    place.takenBack.add(requestId)
    const { stopped, goesOn } = await this.#cancel({ requestId })
    if (stopped === 'prompt') {
      this.#noteTakenBack(text)
      return goesOn.turn ?? follower.openTurn
    }
    place.takenBack.delete(requestId)
    return null
  }

  /** What was said and stands behind a command would begin a turn when that has ended. */
  #dropQueued(): void {
    const { lines } = this.#parts
    const isForModel = (line: string) => isSaid(line) || STEER.test(line)
    for (let text = lines.takeLast(isForModel); text !== undefined; text = lines.takeLast(isForModel))
      if (!isBlank(text)) this.#noteTakenBack(text)
  }

  #noteTakenBack(text: string): void {
    this.#parts.show.note(pc.dim(`(Taken back: ${beginningOf(promptContent(text))})`))
  }

  async #during(work: Work, run: () => Promise<void>): Promise<void> {
    this.#work = work
    try {
      await run()
    } finally {
      this.#work = null
    }
  }

  #cancel(which: { readonly requestId?: string; readonly turn?: number }): Promise<CancelReceipt> {
    return this.#parts.place.session.cancelTurn({ ...which, reason: CTRL_C })
  }

  /** What comes while something runs: some of it is for now, the rest waits. */
  #onMessage(): void {
    const { lines, show } = this.#parts
    if (this.#work === null || this.#takeNow()) return
    const before = this.#ahead.length
    this.#sayAhead()
    if (this.#ahead.length === before && lines.isTerminal) show.note(pc.dim('(Waits until this has ended.)'))
  }

  /** Takes what is for now, wherever it stands. False when there is none. */
  #takeNow(): boolean {
    const now = this.#parts.lines.takeFirst((line) => STEER.test(line) || CANCEL.test(line))
    if (now === undefined) return false
    if (CANCEL.test(now.line)) this.#cancelLast(now.at)
    else this.#aside(this.#steer(now.line.replace(STEER, '')))
    return true
  }

  /** What was said last before this place: it waits here behind a command, or in the session. */
  #cancelLast(before: number): void {
    const { lines, show, place } = this.#parts
    show.note(pc.dim('/cancel'))
    const text = lines.takeLast((line) => isSaid(line) && !isBlank(line), before)
    if (text === undefined) {
      const said = new Set(place.said)
      const cancel = this.#sending.then(() => cancelLastSaid({ ...place, said }))
      this.#cancelling = cancel.catch(() => undefined)
      this.#aside(cancel)
    } else {
      const shown = `Taken back: ${beginningOf(promptContent(text))}`
      place.setting.output.result({ requestId: null }, shown)
    }
  }

  #aside(work: Promise<void>): void {
    void work.catch((error) => this.#report(error))
  }

  async #steer(text: string): Promise<void> {
    const { own, show } = this.#parts
    const said = this.#send(text, 'next-step')
    own.add(said.requestId)
    await said.turn
    show.note(pc.dim(`(Joins the turn at its next step: ${text})`))
  }

  #sayNobody(): void {
    const { place, show, follower } = this.#parts
    if (follower.openTurn !== null) return
    show.note(
      pc.yellow(
        `Nothing has happened for ${NO_WORKER_MS / 1000} s. What you said waits in the store; does a worker run? (${COMMAND} state ${place.session.id})`,
      ),
    )
  }

  /** A person reads it and goes on; a pipe ends with the first failure's code. */
  #report(error: unknown): void {
    const { place, show } = this.#parts
    const { json } = place.setting.output
    const text = failureText(error, { json })
    if (json) console.error(text)
    else show.note(text)
    this.#failed(exitCodeOf(error))
  }

  #failed(code: number): void {
    if (!this.#parts.lines.isTerminal) process.exitCode ??= code
  }
}
