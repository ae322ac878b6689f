/** Text in which a model wrote a tool call instead of making one. Code spans are looked past: a summary may speak of such markup. */
export function holdsCallMarkup(text: string): boolean {
  const prose = text.replace(/`[^`\n]+`/g, '')
  return [...CALL_TAGS, ...CALL_JSON].some((pattern) => pattern.test(prose))
}

const ARGUMENTS = '"(?:arguments|args|input|parameters)"\\s*:'

export const CALL_TAGS: readonly RegExp[] = [
  // <invoke name="bash">, <function=bash>, with or without a namespace
  /<(?:[\w-]{1,20}:)?invoke\s+name\s*=/i,
  /<function=[\w.-]{1,80}>/i,
  // <tool_call> and its kin, directly before what a call would hold
  /<(?:[\w-]{1,20}:)?(?:tool_calls?|tool_use|tool_code|function_calls?)>\s*[<{[]/i,
  // <|tool_call|>, <｜tool▁calls▁begin｜>, <｜DSML｜function_calls>, [TOOL_CALLS]
  /<[|｜][^<>\n]{0,40}(?:tool|function|invoke|DSML)[^<>\n]{0,60}>/i,
  /\[TOOL_CALLS\]/,
]

export const CALL_JSON: readonly RegExp[] = [
  /"type"\s*:\s*"(?:tool_use|tool_call|function_call)"/,
  /"tool_calls"\s*:\s*\[/,
  /"function_call"\s*:\s*\{/,
  new RegExp(`\\{\\s*"(?:name|tool|function)"\\s*:\\s*"[^"\\n]{1,100}"\\s*,\\s*${ARGUMENTS}`),
]
