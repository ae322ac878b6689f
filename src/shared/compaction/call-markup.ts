/** Text in which a model wrote a tool call instead of making one. Code spans are looked past: a summary may speak of such markup. */
export function holdsCallMarkup(text: string): boolean {
  const prose = text.replace(/`[^`\n]+`/g, '')
  return CALL_MARKUP.some((pattern) => pattern.test(prose))
}

/**
 * The beginning of a call that a reply writes as text, or undefined: in one of the markups above, or as the placeholder that stands for an old result. What stands
 * in a code block is shown to somebody.
 */
export function callAsText(text: string): string | undefined {
  const said = text.replace(/```[\s\S]*?(?:```|$)/g, '')
  const line = said.split('\n').find((each) => PLACEHOLDER.test(each) || holdsCallMarkup(each))
  if (line !== undefined) return line.trim()
  return holdsCallMarkup(said) ? said.trim() : undefined
}

const PLACEHOLDER = /^\s*\[Previous: used /

const ARGUMENTS = '"(?:arguments|args|input|parameters)"\\s*:'

const CALL_MARKUP: readonly RegExp[] = [
  // <invoke name="bash">, <function=bash>, with or without a namespace
  /<(?:[\w-]{1,20}:)?invoke\s+name\s*=/i,
  /<function=[\w.-]{1,80}>/i,
  // <tool_call> and its kin, directly before what a call would hold
  /<(?:[\w-]{1,20}:)?(?:tool_calls?|tool_use|tool_code|function_calls?)>\s*[<{[]/i,
  // <|tool_call|>, <｜tool▁calls▁begin｜>, <｜DSML｜function_calls>, [TOOL_CALLS]
  /<[|｜][^<>\n]{0,40}(?:tool|function|invoke|DSML)[^<>\n]{0,60}>/i,
  /\[TOOL_CALLS\]/,
  // JSON
  /"type"\s*:\s*"(?:tool_use|tool_call|function_call)"/,
  /"tool_calls"\s*:\s*\[/,
  /"function_call"\s*:\s*\{/,
  new RegExp(`\\{\\s*"(?:name|tool|function)"\\s*:\\s*"[^"\\n]{1,100}"\\s*,\\s*${ARGUMENTS}`),
]
