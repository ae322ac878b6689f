/** Tags whose content a program put into a user message. */
const INJECTED_TAGS = [
  'system-reminder',
  'task-notification',
  'local-command-caveat',
  'local-command-stdout',
  'local-command-stderr',
  'bash-input',
  'bash-stdout',
  'bash-stderr',
  'command-message',
  'command-contents',
  'ide_opened_file',
  'ide_selection',
  'ide_diagnostics',
  'new-diagnostics',
  'user-prompt-submit-hook',
  'pre-tool-use-hook',
  'post-tool-use-hook',
  'session-start-hook',
  'environment_context',
  'environment_details',
  'user_instructions',
  'permissions',
  'skill',
  'turn_aborted',
  'subagent_notification',
  'teammate-message',
]

/** Beginnings of messages that a program wrote as a whole. */
const INJECTED_START = new RegExp(
  [
    'Base directory for this skill:',
    'Caveat: The messages below were generated',
    'This session is being continued from a previous conversation',
    'The conversation history before this point was compacted',
    'Another language model started to solve this problem',
    '\\[Request interrupted by user',
    '# AGENTS\\.md instructions',
    '(?:\\w+ )?(?:Stop|SubagentStop|PreToolUse|PostToolUse|SessionStart|UserPromptSubmit)(?::\\S+)? hook\\b',
  ].join('|'),
  'y',
)

/** Stands behind a notification's tag. */
const NOTIFICATION_REST = /^\s*Read the output file to retrieve the result: \S+/

export interface SplitText {
  /** What the user wrote, word for word. */
  readonly own: string
  readonly injected: string
}

/** Separates the user's words from what programs put around them. */
export function splitInjected(text: string): SplitText {
  const start = text.search(/\S/)
  if (start < 0) return { own: '', injected: '' }
  INJECTED_START.lastIndex = start
  if (INJECTED_START.test(text)) return { own: '', injected: text }
  if (!text.includes('<')) return { own: text.trim(), injected: '' }
  let own = text
  const injected: string[] = []
  for (const tag of INJECTED_TAGS) own = takeTag(own, tag, injected)
  if (own !== text) own = own.replace(NOTIFICATION_REST, '')
  return { own: slashCommand(own).trim(), injected: injected.join('\n') }
}

/** Takes every `<tag …>…</tag>` out, a blank in its place; one that is never closed reaches to the end of the text. */
function takeTag(text: string, tag: string, taken: string[]): string {
  const open = `<${tag}`
  const close = `</${tag}>`
  const kept: string[] = []
  let done = 0
  let start = text.indexOf(open)
  while (start >= 0) {
    const isTag = /[\s>]/.test(text.charAt(start + open.length))
    const closed = isTag ? text.indexOf(close, start) : -1
    const end = !isTag ? start + open.length : closed < 0 ? text.length : closed + close.length
    if (isTag) {
      kept.push(text.slice(done, start))
      taken.push(text.slice(start, end))
      done = end
    }
    start = text.indexOf(open, end)
  }
  return done === 0 ? text : [...kept, text.slice(done)].join(' ')
}

/** `/name arguments`, as the user typed it, from the tags that a command line wraps around the two. */
function slashCommand(text: string): string {
  const name = between(text, '<command-name>', '</command-name>')
  if (name === undefined) return text
  const args = between(text, '<command-args>', '</command-args>') ?? ''
  return `${name.startsWith('/') ? name : `/${name}`} ${args}`
}

function between(text: string, open: string, close: string): string | undefined {
  const start = text.indexOf(open)
  const end = start < 0 ? -1 : text.indexOf(close, start)
  return end < 0 ? undefined : text.slice(start + open.length, end).trim()
}

const QUESTION_TOOL = /ask_?(?:user|follow|human)|askuser|ask_question|question$|request_user_input/i
const REJECTION_REASON = /(?:reason for the rejection|to tell you how to proceed, the user said):\s*/i
const REJECTION =
  /^(?:Error: )?(?:The user (?:doesn't want|rejected|denied|declined)|Tool use (?:was )?rejected)/i
const REASON_WITHIN_CHARS = 1000

/** The user's words inside a tool result: the answer to a question, or why the user rejected the call. */
export function wordsInResult(
  tool: string,
  text: string,
  isError: boolean,
): { text: string; note: 'answer' | 'rejection' } | undefined {
  if (!isError && QUESTION_TOOL.test(tool)) return { text: text.trim(), note: 'answer' }
  const reason = REJECTION_REASON.exec(text.slice(0, REASON_WITHIN_CHARS))
  if (!reason || !(isError || REJECTION.test(text))) return undefined
  const words = text.slice(reason.index + reason[0].length).trim()
  return words === '' ? undefined : { text: words, note: 'rejection' }
}

/** A refusal by the user is no failure to repeat. */
export function isRejection(text: string): boolean {
  return REJECTION.test(text) || REJECTION_REASON.test(text.slice(0, REASON_WITHIN_CHARS))
}
