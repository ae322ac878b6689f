import pc from 'picocolors'
import type { Watched } from '../../client/index.ts'
import { isCompactCheckpointSource } from '../../shared/checkpoint-source.ts'
import { isText } from '../../shared/session/content.ts'
import type { SessionEvent } from '../../shared/session/events.ts'
import { headOf } from '../../shared/session/well-formed.ts'
import { callOutcome, drawEvent, drawProgress, printable } from '../draw-event.ts'
import { formatCount } from '../table.ts'

/** What a person sees: answers as they are said, and lines about everything else. */
export interface Screen {
  /** Goes on where the last text ended. */
  say(text: string): void
  /** A line of its own. */
  note(line: string): void
}

/** Shows a session as it goes on. Prompts of this person are not repeated. */
export class Show {
  readonly #screen: Screen
  readonly #own: ReadonlySet<string>
  #shown = ''
  #isInLine = false

  constructor(screen: Screen, own: ReadonlySet<string>) {
    this.#screen = screen
    this.#own = own
  }

  add(seen: Watched): void {
    if (seen.kind === 'event') this.#event(seen.event)
    else this.#text(seen.text, seen.anew === true)
  }

  note(line: string): void {
    this.#endLine()
    this.#screen.note(line)
  }

  #text(text: string, isAnew: boolean): void {
    if (isAnew) this.note(pc.dim('(The reply begins anew.)'))
    this.#shown = isAnew ? text : this.#shown + text
    this.#say(text)
  }

  #event(event: SessionEvent): void {
    if (event.type === 'assistant/message')
      this.#landed(event.data.content.filter(isText).map(({ text }) => text))
    // What was shown of a reply that never lands is not the beginning of the next one.
    if (event.type === 'step/start' || event.type === 'turn/end') this.#forget()
    const line = lineOf(event, this.#own)
    if (line !== undefined) this.note(line)
  }

  /** Live text is not durable: what is missing of the message comes now, the whole where another text was shown. */
  #landed(texts: readonly string[]): void {
    const whole = texts.join('')
    if (whole.startsWith(this.#shown)) this.#say(whole.slice(this.#shown.length))
    else {
      this.note(pc.dim('(The whole reply:)'))
      this.#say(whole)
    }
    this.#forget()
  }

  #forget(): void {
    this.#endLine()
    this.#shown = ''
  }

  #say(text: string): void {
    if (text === '') return
    this.#screen.say(printable(text))
    this.#isInLine = !text.endsWith('\n')
  }

  #endLine(): void {
    if (this.#isInLine) this.#screen.say('\n')
    this.#isInLine = false
  }
}

function lineOf(event: SessionEvent, own: ReadonlySet<string>): string | undefined {
  switch (event.type) {
    case 'user/message':
      return isNews(event, own) ? drawEvent(event) : undefined
    case 'tool/result':
      return resultLine(event)
    case 'compact/summary': {
      const { shadowedSeqs, shadowedTokenCount } = event.data
      return pc.dim(`${shadowedSeqs.length} messages, ${formatCount(shadowedTokenCount)} tokens → checkpoint`)
    }
    case 'compact/call':
      return pc.dim(`summary: ${callOutcome(event.data)}`)
    case 'turn/end': {
      const { reason, message } = event.data
      if (reason === 'completed') return undefined
      return pc.yellow(`The turn ended: ${reason}${message === undefined ? '' : `: ${printable(message)}`}`)
    }
    default:
      return drawProgress(event)
  }
}

/** What this person has said is on the screen, and a checkpoint is for the model. */
function isNews(
  { data }: SessionEvent & { readonly type: 'user/message' },
  own: ReadonlySet<string>,
): boolean {
  if (isCompactCheckpointSource(data.source)) return false
  return data.requestId === undefined || !own.has(data.requestId)
}

const RESULT_CHARS = 100

/** `← read_file: first line … (312 lines)` */
function resultLine({ data }: SessionEvent & { readonly type: 'tool/result' }): string {
  const text = data.content
    .filter(isText)
    .map((block) => block.text)
    .join('\n')
    .trimEnd()
  const lines = text.split('\n')
  const first = printable(lines[0] ?? '')
  const head = first.length <= RESULT_CHARS ? first : `${headOf(first, RESULT_CHARS)} …`
  const size = lines.length === 1 ? '' : ` (${formatCount(lines.length)} lines)`
  return (data.isError ? pc.red : pc.dim)(`← ${printable(data.name)}: ${head}${size}`)
}
