import pc from 'picocolors'
import { isCompactCheckpointSource } from '../shared/checkpoint-source.ts'
import { type ContentBlock, isText, isToolUse } from '../shared/session/content.ts'
import type { SessionEvent } from '../shared/session/events.ts'

const MAX_CHARS = 2_000

/** One event for a person's eyes: `#seq who text`. */
export function drawEvent(event: SessionEvent): string {
  return `${pc.dim(`#${event.seq}`)} ${who(event)} ${what(event)}`.trimEnd()
}

function who(event: SessionEvent): string {
  if (event.type === 'user/message')
    return isCompactCheckpointSource(event.data.source) ? pc.green('checkpoint') : pc.bold('user')
  if (event.type === 'assistant/message') return pc.cyan('model')
  if (event.type === 'tool/result')
    return event.data.isError ? pc.red(event.data.name) : pc.blue(event.data.name)
  return event.type.startsWith('compact/') ? pc.yellow(event.type) : pc.dim(event.type)
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
        : `${event.data.reason}: ${event.data.message}`
    case 'compact/start':
      return `${event.data.cause}${event.data.focus === undefined ? '' : `, focus: ${event.data.focus}`}`
    case 'compact/end':
      return event.data.error === undefined ? 'done' : `${event.data.error.code}: ${event.data.error.message}`
    default:
      return ''
  }
}

function contentText(content: readonly ContentBlock[]): string {
  const text = content
    .map(blockText)
    .filter((part) => part !== '')
    .join('\n')
  return text.length <= MAX_CHARS
    ? text
    : `${text.slice(0, MAX_CHARS)} ${pc.dim(`[${text.length - MAX_CHARS} more characters]`)}`
}

function blockText(block: ContentBlock): string {
  if (isText(block)) return block.text
  if (isToolUse(block)) return pc.dim(`→ ${block.name} ${JSON.stringify(block.input)}`)
  return pc.dim(`[${block.type}]`)
}
