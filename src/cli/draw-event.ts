import pc from 'picocolors'
import { isCompactCheckpointSource } from '../shared/checkpoint-source.ts'
import { type ContentBlock, isText, isToolUse } from '../shared/session/content.ts'
import type { EventData, SessionEvent } from '../shared/session/events.ts'
import { headOf } from '../shared/session/well-formed.ts'
import { formatCount } from './table.ts'

const MAX_CHARS = 2_000
const PROGRESS_CHARS = 100

/** One event for a person's eyes: `#seq who text`. */
export function drawEvent(event: SessionEvent): string {
  return `${pc.dim(`#${event.seq}`)} ${who(event)} ${what(event)}`.trimEnd()
}

/** A reply whose text is on the screen already: only its calls and the like. */
export function drawBesideText(event: SessionEvent): string {
  if (event.type !== 'assistant/message') return drawEvent(event)
  const content = event.data.content.filter((block) => !isText(block))
  return drawEvent({ ...event, data: { ...event.data, content } })
}

/** One line about an event of a turn that somebody waits for, or undefined when it says nothing about progress. */
export function drawProgress(event: SessionEvent): string | undefined {
  switch (event.type) {
    case 'assistant/message': {
      const calls = event.data.content.filter(isToolUse)
      return calls.length === 0 ? undefined : pc.dim(calls.map(callLine).join('\n'))
    }
    case 'session/notice':
      return pc.yellow(printable(event.data.message))
    case 'compact/start':
      return pc.dim(`compacting (${event.data.cause}) …`)
    case 'compact/end':
      return pc.dim(
        event.data.error === undefined ? 'compacted' : `not compacted: ${event.data.error.message}`,
      )
    default:
      return undefined
  }
}

/** Text that may come from anywhere, without what would steer the terminal. */
export const printable = (text: string): string =>
  text.replace(/\r\n/g, '\n').replace(/(?![\n\t])\p{Cc}/gu, '\ufffd')

function who(event: SessionEvent): string {
  if (event.type === 'user/message') return sourceName(event.data.source)
  if (event.type === 'assistant/message') return pc.cyan('model')
  if (event.type === 'tool/result') return (event.data.isError ? pc.red : pc.blue)(printable(event.data.name))
  return event.type.startsWith('compact/') || event.type === 'session/notice'
    ? pc.yellow(event.type)
    : pc.dim(event.type)
}

function sourceName(source: string): string {
  if (isCompactCheckpointSource(source)) return pc.green('checkpoint')
  return source === 'prompt' || source === 'import' ? pc.bold('user') : pc.bold(source)
}

function what(event: SessionEvent): string {
  switch (event.type) {
    case 'user/message':
    case 'assistant/message':
    case 'tool/result':
      return contentText(event.data.content)
    case 'turn/end':
      return event.data.message === undefined
        ? event.data.reason
        : `${event.data.reason}: ${printable(event.data.message)}`
    case 'compact/start':
      return `${event.data.cause}${event.data.focus === undefined ? '' : `, focus: ${printable(event.data.focus)}`}`
    case 'assistant/lost':
      return `a call of ${printable(event.data.model)} left no reply: ${event.data.why}`
    case 'session/notice':
      return `${event.data.code}: ${printable(event.data.message)}`
    case 'compact/call':
      return callOutcome(event.data)
    case 'compact/summary':
      return `${event.data.shadowedSeqs.length} messages, ${formatCount(event.data.shadowedTokenCount)} tokens`
    case 'compact/end':
      return event.data.error === undefined
        ? 'done'
        : `${event.data.error.code}: ${printable(event.data.error.message)}`
    default:
      return ''
  }
}

/** `call 1 (summary), refused: truncated` */
export const callOutcome = ({
  index,
  purpose,
  accepted,
  refusedBecause,
}: EventData<'compact/call'>): string =>
  `call ${index + 1} (${purpose})${accepted ? '' : `, refused: ${refusedBecause}`}`

function contentText(content: readonly ContentBlock[]): string {
  const text = content
    .map(blockText)
    .filter((part) => part !== '')
    .join('\n')
  if (text.length <= MAX_CHARS) return text
  const head = headOf(text, MAX_CHARS)
  return `${head} ${pc.dim(`[${formatCount(text.length - head.length)} more characters]`)}`
}

function blockText(block: ContentBlock): string {
  if (isText(block)) return printable(block.text)
  if (isToolUse(block)) return pc.dim(callText(block))
  return pc.dim(`[${block.type}]`)
}

interface Call {
  readonly name: string
  readonly input: unknown
}

const callText = ({ name, input }: Call): string => printable(`→ ${name} ${JSON.stringify(input)}`)

function callLine(call: Call): string {
  const line = callText(call)
  return line.length <= PROGRESS_CHARS ? line : `${headOf(line, PROGRESS_CHARS)} …`
}
