import { contentBlocks, type DraftMessage, present, textOf } from './draft.ts'
import type { DocumentReader } from './format-reader.ts'
import { userSource } from './injected-text.ts'
import { isObject, type JsonObject, listAt, objectAt, stringAt } from './json-text.ts'
import type { ReadTool } from './transcript.ts'

/** The body of a Messages request, or only its list of messages. */
export const anthropic: DocumentReader = {
  read(document, account) {
    const body = isObject(document) ? document : { messages: document }
    const drafts: DraftMessage[] = []
    for (const [index, message] of listAt(body, 'messages').entries()) {
      const line = index + 1
      const { role, content } = isObject(message) ? message : {}
      account.open(line, typeof role === 'string' ? role : '(no role)', 'no message of user or assistant')
      const blocks = contentBlocks(content)
      if (role === 'user' || role === 'assistant')
        drafts.push({ kind: 'message', line, role, blocks, source: userSource(blocks) })
    }
    const tools = listAt(body, 'tools').filter(isObject).map(declaredTool)
    return { drafts, tools, ...present({ system: systemText(body['system']) }) }
  },
}

/** A system prompt of several blocks is joined by line breaks. */
function systemText(system: unknown): string | undefined {
  const blocks = contentBlocks(system)
  if (blocks.length === 0) return undefined
  return blocks.map(textOf).join('\n')
}

/** A tool of the provider has no schema here: its name stands alone. */
const declaredTool = (tool: JsonObject): ReadTool => ({
  name: stringAt(tool, 'name') ?? '',
  ...present({ description: stringAt(tool, 'description'), input_schema: objectAt(tool, 'input_schema') }),
})
