import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { callAsText } from '../../src/shared/compaction/call-as-text.ts'

const CALL = '<invoke name="bash">ls</invoke>'
const JSON_CALL = '{"name": "bash", "arguments": {"command": "ls"}}'
const PLACEHOLDER = '[Previous: used work; history {"seq": 12} reads its result]'

describe('fault H13: what shows a call is not flagged', () => {
  for (const [what, text] of [
    ['a fence', `See:\n\n\`\`\`xml\n${CALL}\n\`\`\`\nThat is all.`],
    ['a fence of tildes', `The API answers:\n\n~~~json\n{"type": "tool_use", "id": "x"}\n~~~\nThat is all.`],
    [
      'a fence in a fence of four',
      `See:\n\`\`\`\`md\n\`\`\`json\n${JSON_CALL}\n\`\`\`\n${CALL}\n\`\`\`\`\nDone.`,
    ],
    ['tildes in a fence of backticks', `\`\`\`\n~~~\n${CALL}\n~~~\n\`\`\`\nDone.`],
    ['a fence that ends with the reply', `See:\n\`\`\`\n${CALL}`],
    ['a fence in a list', `1. Write\n   \`\`\`\n   ${CALL}\n   \`\`\`\n2. Done.`],
    ['a block behind text of its line', `It is written as \`\`\`xml\n${CALL}\n\`\`\`, and read so.`],
    ['a block behind text, whose end stands alone', `Like this: \`\`\`xml\n${CALL}\n\`\`\`\nDone.`],
    ['a fence that begins an item of a list', `- \`\`\`xml\n\n  ${CALL}\n  \`\`\`\n- Done.`],
    ['a fence below an item of a list', `- Send\n    \`\`\`\n    ${CALL}\n    \`\`\`\n- Done.`],
    ['an indented block', `Example:\n\n    ${JSON_CALL}\n    ${CALL}\n\nDone.`],
    ['a block indented by a tab', `Example:\n\n\t${CALL}\n\nDone.`],
    ['a quote', `> {"type": "tool_use"}\n> ${CALL}\nis what it sends.`],
    [
      'a quote that ends with a fence',
      `> Like \`\`\`\n> ${CALL}\n> \`\`\`\n\n\`\`\`\n${CALL}\n\`\`\`\nDone.`,
    ],
    ['inline code', `A call is \`${CALL}\`, or \`${JSON_CALL}\`.`],
    ['inline code with two backticks', `Write \`\`{"type": \`"tool_use"\`}\`\` there.`],
    ['inline code over two lines', `I fixed \`{"tool_calls":\n[...]}\` in the parser.`],
    ['JSON in a sentence', 'The SDK emits a block with "type": "tool_use", which I now handle in parse.ts.'],
    ['a JSON call in a sentence', `It sends ${JSON_CALL} and waits.`],
    ['a line of a log', `The file log.txt contains this line:\n${PLACEHOLDER}\nwhich is our placeholder.`],
  ] as const)
    test(what, () => assert.equal(callAsText(text), undefined))
})

describe('fault H13: a call that is written as text is flagged', () => {
  for (const [what, text, start] of [
    ['markup on its line', `Now the tests.\n${CALL}`, '<invoke'],
    ['markup behind text', `Now the tests: ${CALL}`, '<invoke'],
    [
      'behind a mention of backticks',
      `Use \`\`\` to open a fence.\n${CALL}\nThen \`\`\` closes it.`,
      '<invoke',
    ],
    ['behind a fence that was closed', `\`\`\`\nls\n\`\`\`\n${CALL}`, '<invoke'],
    ['behind inline code before a fence', `Write \`\`\`x\`\`\`\n${CALL}\n\`\`\`\nls\n\`\`\``, '<invoke'],
    ['behind a mention at the end of a line', `It ends with \`\`\`\n${CALL}`, '<invoke'],
    ['behind a longer end of a fence', `\`\`\`\nls\n\`\`\`\`\n${CALL}`, '<invoke'],
    ['between two stray backticks', `Press \`.\n\n${CALL}\n\nPress \`.`, '<invoke'],
    ['over lines', `<tool_call>\n    ${JSON_CALL}\n</tool_call>`, '<tool_call>'],
    ['JSON', `Now the tests.\n${JSON_CALL}`, '{"name"'],
    ['JSON in a list', `[{"id": "x", "type": "tool_use"}]`, '[{"id"'],
    ['JSON over lines', `{\n  "type": "tool_use",\n  "name": "bash"\n}`, '"type"'],
    ['JSON with its parts over lines', `{\n  "name": "bash",\n  "arguments": {}\n}`, '{'],
    ['a placeholder alone', PLACEHOLDER, '[Previous'],
    ['a placeholder at the end', `Let me look:\n\n${PLACEHOLDER}\n`, '[Previous'],
    ['a placeholder at the beginning', `${PLACEHOLDER}\nThe tests pass.`, '[Previous'],
  ] as const)
    test(what, () => {
      const found = callAsText(text)
      assert.ok(found?.startsWith(start), found)
    })
})
