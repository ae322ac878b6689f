import fc from 'fast-check'

/** Texts that resemble transcripts, made to find what a reader takes for granted. */

const id = fc.constantFrom('a', 'b', 'a-2', 'c|d', '', '__proto__', '\ud800')
const word = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('', '\udc00', '```bash\nls\n```', '<system-reminder>x'),
)
const junk = fc.oneof(
  fc.constantFrom(null, 0, -1, true, '', [], {}, [null], [[]]),
  word,
  fc.jsonValue({ maxDepth: 2 }),
)
const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.oneof(word, junk) }),
  fc.record({
    type: fc.constantFrom('tool_use', 'toolCall', 'tool-call'),
    id,
    name: word,
    input: junk,
    arguments: junk,
  }),
  fc.record({
    type: fc.constantFrom('tool_result', 'tool-result'),
    tool_use_id: id,
    toolCallId: id,
    content: fc.oneof(word, junk, fc.array(fc.record({ type: fc.constant('text'), text: word }))),
    is_error: junk,
  }),
  fc.record({
    type: fc.constantFrom('thinking', 'reasoning', 'image', 'input_image', 'x'),
    thinking: junk,
    signature: junk,
    data: junk,
    image_url: junk,
  }),
  junk,
)
const content = fc.oneof(word, fc.array(block, { maxLength: 4 }), junk)
const role = fc.constantFrom(
  'user',
  'assistant',
  'system',
  'tool',
  'toolResult',
  'bashExecution',
  'developer',
  'exit',
)
const message = fc.record(
  {
    role,
    content,
    id,
    tool_calls: fc.oneof(
      fc.array(fc.record({ id, function: fc.record({ name: word, arguments: word }) })),
      junk,
    ),
    tool_call_id: id,
    toolCallId: id,
    action: word,
    agent: fc.constantFrom('main', 'other'),
    usage: junk,
    source: junk,
    summary: junk,
  },
  { requiredKeys: ['role'] },
)
const recordTypes = {
  'claude-code': ['user', 'assistant', 'system', 'attachment', 'queue-operation', 'progress', '__proto__'],
  codex: [
    'response_item',
    'response_item',
    'response_item',
    'event_msg',
    'compacted',
    'session_meta',
    'turn_context',
  ],
  pi: ['session', 'message', 'message', 'message', 'compaction', 'custom_message', 'branch_summary', 'label'],
  dsh: [
    'session',
    'user/message',
    'assistant/message',
    'tool/result',
    'compaction/start',
    'compaction/summary',
    'request/header',
  ],
} as const
const rarely = fc.oneof(
  { weight: 5, arbitrary: fc.constant(false) },
  { weight: 1, arbitrary: fc.constant(true) },
)
const orJunk = (arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 8, arbitrary }, { weight: 1, arbitrary: junk })
const payload = fc.record({
  type: fc.constantFrom(
    'message',
    'message',
    'reasoning',
    'function_call',
    'custom_tool_call',
    'function_call_output',
    'token_count',
    'local_shell_call',
    'tool_search_call',
    'tool_search_output',
    'agent_message',
  ),
  role,
  content,
  call_id: id,
  name: word,
  arguments: word,
  output: fc.oneof(content, junk),
  info: junk,
  summary: content,
  dynamic_tools: junk,
  input: junk,
})
const recordOf = (types: readonly string[]) =>
  fc.record(
    {
      type: fc.constantFrom(...types),
      uuid: id,
      parentUuid: fc.oneof(id, fc.constant(null)),
      logicalParentUuid: id,
      id,
      parentId: id,
      timestamp: fc.constantFrom('t1', 't2', 7),
      isSidechain: rarely,
      isMeta: fc.boolean(),
      isCompactSummary: rarely,
      isApiErrorMessage: rarely,
      subtype: fc.constantFrom('compact_boundary', 'x'),
      operation: fc.constantFrom('enqueue', 'dequeue', 'remove', 'popAll'),
      content,
      summary: junk,
      surfaceOp: fc.oneof({ weight: 5, arbitrary: fc.constant('append') }, { weight: 1, arbitrary: junk }),
      attachment: orJunk(fc.record({ type: fc.constant('queued_command'), prompt: content })),
      message: orJunk(message),
      data: orJunk(
        fc.record(
          { message, content, callId: id, summary: junk, header: junk },
          { requiredKeys: ['content'] },
        ),
      ),
      payload: orJunk(payload),
    },
    { requiredKeys: ['type', 'message', 'data', 'payload'] },
  )
const linesOfRecords = (record: fc.Arbitrary<unknown>): fc.Arbitrary<string> => {
  const line = fc.oneof(
    { weight: 12, arbitrary: record.map((each) => JSON.stringify(each)) },
    { weight: 1, arbitrary: word },
    { weight: 1, arbitrary: record.map((each) => JSON.stringify(each).slice(0, -3)) },
    { weight: 1, arbitrary: fc.constantFrom('', '// comment', '42', '[]') },
  )
  return fc.array(line, { maxLength: 25 }).map((all) => all.join('\n'))
}
/** Lines as a format has them, with odd fields, broken lines and nonsense between. */
export const linesOf = (format: keyof typeof recordTypes): fc.Arbitrary<string> =>
  linesOfRecords(recordOf(recordTypes[format]))

const mixedLines = linesOfRecords(recordOf(Object.values(recordTypes).flat()))
const document = fc
  .record(
    {
      messages: fc.oneof(fc.array(message), junk),
      history: fc.oneof(fc.array(message), junk),
      trajectory: fc.constantFrom([], null),
      trajectory_format: fc.constantFrom('mini-swe-agent-1', 'x'),
      info: junk,
      system: content,
      tools: junk,
    },
    { requiredKeys: [] },
  )
  .map((each) => JSON.stringify(each))
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary' }),
  mixedLines,
  document,
  fc.array(message).map((each) => JSON.stringify(each)),
  fc.jsonValue().map((each) => JSON.stringify(each)),
)
