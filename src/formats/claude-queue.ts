import type { JsonlRecord } from './format-reader.ts'
import { isObject, type JsonObject, objectAt, stringAt } from './json-text.ts'

/** A prompt that reached the model inside a turn: its text or blocks, when this record delivers one. */
export function queuedCommand(record: JsonObject): unknown {
  const attachment = objectAt(record, 'attachment')
  return attachment?.['type'] === 'queued_command' ? attachment['prompt'] : undefined
}

/**
 * Prompts that older clients delivered inside a turn without a record of their own: their text stands in `enqueue` only,
 * and a `remove` marks the delivery (a prompt taken back for editing is a `popAll`, one that starts a turn a `dequeue`).
 * Returns the text by the line of its `remove`.
 */
export function recoverQueuedPrompts(records: readonly JsonlRecord[]): ReadonlyMap<number, string> {
  const delivered = deliveredTexts(records)
  const recovered = new Map<number, string>()
  let waiting: string[] = []
  for (const { line, record } of records) {
    if (record['type'] !== 'queue-operation') continue
    const content = stringAt(record, 'content')
    if (record['operation'] === 'enqueue') waiting.push(content ?? '')
    else if (record['operation'] === 'dequeue') waiting.shift()
    else if (record['operation'] === 'popAll') waiting = []
    else if (record['operation'] === 'remove') {
      const index = waiting.findLastIndex((text) => text !== '' && !delivered.has(text))
      const [text] = index === -1 ? [] : waiting.splice(index, 1)
      if (text !== undefined) recovered.set(line, text)
    }
  }
  return recovered
}

function deliveredTexts(records: readonly JsonlRecord[]): ReadonlySet<unknown> {
  const texts = new Set<unknown>()
  for (const { record } of records) {
    const content =
      queuedCommand(record) ?? (record['type'] === 'user' ? objectAt(record, 'message')?.['content'] : [])
    texts.add(content)
    if (Array.isArray(content)) for (const block of content) if (isObject(block)) texts.add(block['text'])
  }
  return texts
}
