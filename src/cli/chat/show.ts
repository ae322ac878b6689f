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

const ENDS_TEXT: ReadonlySet<SessionEvent['type']> = new Set(['assistant/message', 'step/start', 'turn/end'])

/** Shows a session as it goes on. Prompts of this person are not repeated. */
export class Show {
  readonly #screen: Screen
  readonly #own: ReadonlySet<string>
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
    this.#say(text)
  }

  #event(event: SessionEvent): void {
    // The text of a reply has come before its event; one that never lands ends here too.
    if (ENDS_TEXT.has(event.type)) this.#endLine()
    const line = lineOf(event, this.#own)
    if (line !== undefined) this.note(line)
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
