import { chatDrafts, type TextCall } from './chat-messages.ts'
import { present } from './draft.ts'
import type { DocumentReader } from './format-reader.ts'
import { isObject, type JsonObject, listAt, stringAt } from './json-text.ts'

/**
 * SWE-agent trajectory: its `history`. A reply without calls of an API calls its `action`; the observation behind it is
 * the result. Messages of another agent than the first one are side chains.
 */
export const sweAgent: DocumentReader = {
  read(document, account) {
    const history = isObject(document) ? listAt(document, 'history') : []
    const messages = history.map((message, index) => ({
      line: index + 1,
      record: isObject(message) ? message : {},
    }))
    const mainAgent = messages[0]?.record['agent']
    const sideChains = new Map<string, { line: number; records: number; agentId: string }>()
    for (const { line, record } of messages) {
      account.open(line, typeOf(record), 'no message of the conversation')
      if (record['agent'] === mainAgent) continue
      account.leaveOut(line, 'side chain: the conversation of a sub-agent')
      const agentId = stringAt(record, 'agent') ?? '(no name)'
      const chain = sideChains.get(agentId) ?? { line, records: 0, agentId }
      sideChains.set(agentId, chain)
      chain.records++
    }
    const main = messages.filter(({ record }) => record['agent'] === mainAgent)
    const { drafts, system } = chatDrafts(main, textCall, account)
    return { drafts, sideChains: [...sideChains.values()], ...present({ system }) }
  },
}

const typeOf = (message: JsonObject): string =>
  [stringAt(message, 'role') ?? '(no role)', stringAt(message, 'message_type')].filter(Boolean).join('/')

function textCall(message: JsonObject, answered: boolean): TextCall | undefined {
  const command = stringAt(message, 'action')?.trim()
  if (command) return { name: 'bash', input: { command } }
  return answered ? { name: 'bash', input: { command: '' }, refused: true } : undefined
}
