import { clearScreenDown, createInterface, cursorTo, type Interface } from 'node:readline'
import { Writable } from 'node:stream'
import type { WriteStream } from 'node:tty'

/** Where lines come from: a terminal that is edited and echoed, or a pipe. */
export interface LineSource {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
  readonly isTerminal: boolean
}

export const standardStreams = (): LineSource => ({
  input: process.stdin,
  output: process.stdout,
  isTerminal: process.stdin.isTTY === true && process.stdout.isTTY === true,
})

const PROMPT = '› '
const BRACKETED_PASTE = { on: '\u001b[?2004h', off: '\u001b[?2004l' }

/**
 * What a person says, one message at a time. A line that ends with a backslash goes on in the next one, and a paste is one message however many lines it has. What is typed while
 * nobody asks is kept for the next question, and not echoed into an answer.
 */
export class Lines {
  readonly isTerminal: boolean
  readonly #output: NodeJS.WritableStream
  readonly #echo: Echo
  readonly #readline: Interface
  readonly #ready: string[] = []
  #begun: string[] = []
  #isAsking = false
  #isPasting = false
  #isOver = false
  #wake: () => void = () => {}

  constructor({ input, output, isTerminal }: LineSource) {
    this.isTerminal = isTerminal
    this.#output = output
    this.#echo = new Echo(output)
    this.#readline = createInterface({
      input,
      ...(isTerminal ? { output: this.#echo } : {}),
      terminal: isTerminal,
      prompt: PROMPT,
      crlfDelay: Number.POSITIVE_INFINITY,
    })
    this.#readline.on('line', (line) => this.#onLine(line))
    this.#readline.on('close', () => this.#end())
    if (!isTerminal) return
    output.write(BRACKETED_PASTE.on)
    input.on('keypress', (_text, key?: { readonly name?: string }) => {
      if (key?.name === 'paste-start') this.#isPasting = true
      if (key?.name === 'paste-end') this.#isPasting = false
    })
  }

  /** Ctrl-C in a terminal, which sends no signal while lines are edited. */
  onInterrupt(interrupt: () => void): void {
    this.#readline.on('SIGINT', interrupt)
  }

  /** Undefined at the end of the input. */
  async next(): Promise<string | undefined> {
    const [typedAhead] = this.#ready
    if (typedAhead !== undefined) {
      if (this.isTerminal) this.#output.write(`${PROMPT}${typedAhead}\n`)
    } else if (!this.#isOver) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#isAsking = true
      this.showPrompt()
      await woken
      this.#isAsking = false
      this.#echo.isOn = false
    }
    return this.#ready.shift()
  }

  /** With what was typed so far, when a message is waited for. */
  showPrompt(): void {
    if (!this.isTerminal || !this.#isAsking || this.#echo.isOn || this.#isOver) return
    this.#echo.isOn = true
    this.#readline.prompt(true)
  }

  /** Makes room for something else. What is typed meanwhile is kept. */
  hidePrompt(): void {
    if (!this.isTerminal || !this.#echo.isOn) return
    this.#echo.isOn = false
    cursorTo(this.#output, 0)
    clearScreenDown(this.#output)
  }

  /** Takes the next message if it has come already and is one of these. */
  takeIf(is: (line: string) => boolean): string | undefined {
    const [line] = this.#ready
    return line !== undefined && is(line) ? this.#ready.shift() : undefined
  }

  /** Takes the first of these that has come already, wherever it stands; `at` is where. */
  takeFirst(is: (line: string) => boolean): { readonly line: string; readonly at: number } | undefined {
    const at = this.#ready.findIndex(is)
    const [line] = at === -1 ? [] : this.#ready.splice(at, 1)
    return line === undefined ? undefined : { line, at }
  }

  /** Takes the last of these that has come already, before this place. */
  takeLast(is: (line: string) => boolean, before = this.#ready.length): string | undefined {
    const at = this.#ready.slice(0, before).findLastIndex(is)
    return at === -1 ? undefined : this.#ready.splice(at, 1)[0]
  }

  /** Called for each message that comes. */
  onMessage: () => void = () => {}

  close(): void {
    this.#readline.close()
    if (this.isTerminal) this.#output.write(BRACKETED_PASTE.off)
  }

  #onLine(line: string): void {
    const goesOn = line.endsWith('\\')
    this.#begun.push(goesOn ? line.slice(0, -1) : line)
    if (goesOn || this.#isPasting) return
    this.#ready.push(this.#begun.join('\n'))
    this.#begun = []
    this.#wake()
    this.onMessage()
  }

  #end(): void {
    if (this.#begun.length > 0) this.#ready.push(this.#begun.join('\n'))
    this.#begun = []
    this.#isOver = true
    this.#wake()
  }
}

/** What readline echoes, while it may. */
class Echo extends Writable {
  isOn = false
  readonly #output: NodeJS.WritableStream

  constructor(output: NodeJS.WritableStream) {
    super()
    this.#output = output
  }

  get columns(): number {
    return (this.#output as Partial<WriteStream>).columns ?? 80
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.isOn) this.#output.write(chunk)
    done()
  }
}
