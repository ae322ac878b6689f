import { chatDrafts, type TextCall } from './chat-messages.ts'
import { present } from './draft.ts'
import type { DocumentReader } from './format-reader.ts'
import { isObject, type JsonObject, listAt, stringAt } from './json-text.ts'
import { shellActions } from './shell-actions.ts'

/**
 * mini-swe-agent trajectory. A reply's shell block is its call of `bash`, the user message behind it the result. A reply
 * that was refused for its form called too: with all its blocks, and the refusal as its failed result.
 */
export const miniSweAgent: DocumentReader = {
  read(document, account) {
    const list = isObject(document) ? listAt(document, 'messages') : []
    const messages = list.map((message, index) => ({
      line: index + 1,
      record: isObject(message) ? message : {},
    }))
    for (const { line, record } of messages)
      account.open(line, stringAt(record, 'role') ?? '(no role)', 'no message of the conversation')
    const { drafts, system } = chatDrafts(messages, textCall, account)
    return { drafts, ...present({ system }) }
  },
}

function textCall(message: JsonObject, answered: boolean): TextCall | undefined {
  const commands = shellActions(stringAt(message, 'content') ?? '')
  if (commands.length === 1) return { name: 'bash', input: { command: commands[0] } }
  return answered ? { name: 'bash', input: { commands }, refused: true } : undefined
}
