import type { ModelRequest } from 'durable-compaction/core'
import type { ScriptedReply } from 'durable-compaction/worker'

// A model without a key, for trying the agent out: it repairs `add` of sum.js, whatever it is asked, and then says so.

const call = (name: string, input: object) => ({
  content: [{ type: 'tool_use', id: `call_${name}`, name, input }],
})

const STEPS: readonly ScriptedReply[] = [
  call('search_files', { text: 'add' }),
  call('read_file', { path: 'sum.js' }),
  call('edit_file', { path: 'sum.js', before: 'a - b', after: 'a + b' }),
  call('run_command', { command: 'node sum.test.js' }),
]
const DONE = 'add subtracted; it adds now, and the test passes. I have changed nothing else.'

export function rehearsal({ messages }: ModelRequest): ScriptedReply {
  const blocks = messages.flatMap(({ content }) => content)
  // Also in a checkpoint, and for one.
  if (blocks.some(({ text }) => typeof text === 'string' && text.includes(DONE))) return DONE
  return STEPS[blocks.filter(({ type }) => type === 'tool_result').length] ?? DONE
}
