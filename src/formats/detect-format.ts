import { isObject, type JsonObject, listAt, parseJson, readLines, stringAt } from './json-text.ts'
import type { TranscriptFormat } from './transcript.ts'

/** Lines that are looked at before a text counts as none of the line formats. */
const MAX_LINES = 200

/**
 * The format of a recorded transcript, by its content; the file's name decides only where the content says nothing.
 * Null when it is none of the known ones.
 */
export function detectFormat(text: string, fileName?: string): TranscriptFormat | null {
  return byLines(text) ?? byDocument(text) ?? (fileName === undefined ? null : byName(fileName))
}

function byLines(text: string): TranscriptFormat | null {
  let seen = 0
  for (const line of readLines(text)) {
    const format = line.kind === 'record' ? (documentFormat(line.record) ?? recordFormat(line.record)) : null
    if (format !== null) return format
    if (++seen === MAX_LINES) return null
  }
  return null
}

function byDocument(text: string): TranscriptFormat | null {
  if (!/^\s*[[{]/.test(text)) return null
  const parsed = parseJson(text)
  return 'value' in parsed ? documentFormat(parsed.value) : null
}

function documentFormat(document: unknown): TranscriptFormat | null {
  if (Array.isArray(document)) return document.length > 0 && document.every(isApiMessage) ? 'anthropic' : null
  if (!isObject(document)) return null
  if (Array.isArray(document['history']) && Array.isArray(document['trajectory'])) return 'swe-agent'
  const messages = listAt(document, 'messages')
  if (messages.length === 0) return null
  const info = isObject(document['info']) ? document['info'] : {}
  if (
    stringAt(document, 'trajectory_format')?.startsWith('mini-swe-agent') ||
    info['mini_version'] !== undefined
  )
    return 'mini-swe-agent'
  return messages.every(isApiMessage) ? 'anthropic' : null
}

const isApiMessage = (message: unknown): boolean =>
  isObject(message) &&
  (message['role'] === 'user' || message['role'] === 'assistant') &&
  (typeof message['content'] === 'string' || Array.isArray(message['content']))

const CODEX_TYPES = ['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted', 'world_state']

function recordFormat(record: JsonObject): TranscriptFormat | null {
  const type = stringAt(record, 'type')
  if (type === undefined) return null
  if (CODEX_TYPES.includes(type) && isObject(record['payload'])) return 'codex'
  if (type.includes('/') && isObject(record['data'])) return 'dsh'
  if (type === 'session') return record['createdAt'] === undefined ? 'pi' : 'dsh'
  if (type === 'message' && isObject(record['message']) && record['uuid'] === undefined) return 'pi'
  const claude = ['uuid', 'parentUuid', 'sessionId', 'leafUuid', 'snapshot'].some(
    (key) => record[key] !== undefined,
  )
  return claude ? 'claude-code' : null
}

function byName(fileName: string): TranscriptFormat | null {
  const name = fileName.slice(Math.max(fileName.lastIndexOf('/'), fileName.lastIndexOf('\\')) + 1)
  if (name.endsWith('.traj.json')) return 'mini-swe-agent'
  if (name.endsWith('.traj')) return 'swe-agent'
  if (name.endsWith('.session.jsonl')) return 'dsh'
  return /^rollout-.*\.jsonl$/.test(name) ? 'codex' : null
}
