import { randomUUID } from 'node:crypto'
import pc from 'picocolors'
import { promptProblem } from '../../shared/session/prompt-content.ts'
import { COMMAND } from '../command-name.ts'
import { EXIT, exitCodeOf, failureText, UsageError } from '../exit-codes.ts'
import type { Follower } from './follower.ts'
import type { Lines } from './lines.ts'
import type { Show } from './show.ts'
import { type CommandPlace, commandOf, QUIT, STEER } from './slash-commands.ts'

/** What runs because a person asked for it. */
interface Work {
  stop(): void | Promise<void>
  isStopping: boolean
}

const CTRL_C = 'Ctrl-C'
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
      const line = await lines.next()
      this.#isWarned = false
      if (line === undefined || QUIT.test(line) || leave.signal.aborted) return
      if (line.trim() === '') continue
      try {
        await this.#handle(line)
      } catch (error) {
        if (leave.signal.aborted) return
        this.#report(error)
        if (!lines.isTerminal && exitCodeOf(error) === EXIT.unreachable) return
      }
    }
  }

  /** The first one stops what runs, the next one leaves. */
  interrupt(): void {
    const { follower, show, lines, leave } = this.#parts
    const { openTurn } = follower
    if (this.#work !== null && !this.#work.isStopping) this.#stop(this.#work)
    else if (this.#work === null && openTurn !== null && openTurn !== this.#stoppedTurn) {
      this.#stoppedTurn = openTurn
      this.#stop({ stop: () => this.#cancel({ turn: openTurn }), isStopping: false })
    } else if (this.#work === null && lines.isTerminal && !this.#isWarned) {
      this.#isWarned = true
      show.note(pc.dim('Ctrl-C again leaves.'))
    } else leave.abort(CTRL_C)
  }

  #stop(work: Work): void {
    work.isStopping = true
    this.#parts.show.note(pc.dim('Stopping. Ctrl-C again leaves without waiting for it.'))
    void Promise.resolve(work.stop()).catch((error: unknown) => this.#report(error))
  }

  async #handle(line: string): Promise<void> {
    const { place, follower } = this.#parts
    const command = STEER.test(line) ? undefined : commandOf(line)
    if (command === undefined) return this.#say(line.replace(STEER, ''))
    const stop = new AbortController()
    await this.#during({ stop: () => stop.abort(CTRL_C), isStopping: false }, async () => {
      await command(place, stop.signal).finally(() => follower.caughtUp())
    })
  }

  async #say(text: string): Promise<void> {
    const { place, follower, own, leave } = this.#parts
    const problem = promptProblem(text)
    if (problem !== undefined) throw new UsageError(problem)
    const requestId = randomUUID()
    own.add(requestId)
    const work = { stop: () => this.#cancel({ requestId }), isStopping: false }
    await this.#during(work, async () => {
      const turn = await place.session.prompt(text, { requestId })
      const nobody = setTimeout(() => this.#sayNobody(), NO_WORKER_MS)
      const result = await turn.result({ signal: leave.signal }).finally(() => clearTimeout(nobody))
      await follower.caughtUp()
      if (place.setting.output.json) place.setting.output.result({ requestId, ...result }, '')
      if (result.reason !== 'completed') this.#failed(EXIT.failed)
    })
  }

  async #during(work: Work, run: () => Promise<void>): Promise<void> {
    this.#work = work
    try {
      await run()
    } finally {
      this.#work = null
    }
  }

  async #cancel(which: { readonly requestId?: string; readonly turn?: number }): Promise<void> {
    await this.#parts.place.session.cancelTurn({ ...which, reason: CTRL_C })
  }

  /** What comes while a turn runs: it is said to the turn, or it waits. */
  #onMessage(): void {
    const { lines, show } = this.#parts
    if (this.#work === null) return
    const steer = lines.takeIf((line) => STEER.test(line))
    if (steer !== undefined) void this.#steer(steer.replace(STEER, '')).catch((error) => this.#report(error))
    else if (lines.isTerminal) show.note(pc.dim('(Waits until this has ended.)'))
  }

  async #steer(text: string): Promise<void> {
    const { place, own, show } = this.#parts
    const requestId = randomUUID()
    own.add(requestId)
    await place.session.prompt(text, { requestId, delivery: 'next-step' })
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
