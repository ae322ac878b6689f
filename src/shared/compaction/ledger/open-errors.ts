import type { CallFacts } from './calls.ts'
import { oneLine } from './clip.ts'
import type { CountTokens, OpenError } from './types.ts'

const TITLE = '## Failed and not yet repeated with success'
const TELLING =
  /error|exception|fail|fatal|not found|denied|refused|cannot|unable|no such|undefined|panic|reject/i
/** Results of calls that never ran, because another one of the same step failed. */
const NEVER_RAN = /sibling tool call errored|cancelled: parallel tool call/i
const COMMAND_MAX_CHARS = 100
const LINE_MAX_CHARS = 200
const NEWEST = 3
const AGE_MAX_MESSAGES = 60

/** Calls that failed and were not repeated with success, oldest first: a later success of the same key closes one. */
export function trackErrors(calls: readonly CallFacts[], previous: readonly OpenError[]): OpenError[] {
  const open = new Map(previous.map((error) => [error.key, error]))
  for (const { call, result, outcome, script, target, key } of calls) {
    if (outcome === 'ok') open.delete(key)
    if (outcome !== 'failed' || !result || NEVER_RAN.test(result.text.slice(0, 400))) continue
    open.delete(key)
    const command = oneLine(script ?? `${call.tool} ${target ?? ''}`, COMMAND_MAX_CHARS)
    open.set(key, { key, command, detail: failureText(result.text), last: result.message })
  }
  return [...open.values()]
}

/** The newest errors that are still likely to matter. `cut` is the number of messages of the span. */
export function recentErrors(errors: readonly OpenError[], cut: number): OpenError[] {
  return errors.filter(({ last }) => cut - last <= AGE_MAX_MESSAGES).slice(-NEWEST)
}

/** First line, and the last one that tells what went wrong. */
function failureText(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const first = oneLine(lines[0] ?? '', LINE_MAX_CHARS)
  const telling = oneLine(lines.slice(1).findLast((line) => TELLING.test(line)) ?? '', LINE_MAX_CHARS)
  if (telling === '' || telling === first) return first
  return first === '' ? telling : `${first} … ${telling}`
}

/** One line per error; those that do not fit go, the oldest first. */
export function renderErrors(errors: readonly OpenError[], budgetTokens: number, count: CountTokens): string {
  for (let from = 0; from < errors.length; from++) {
    const lines = errors
      .slice(from)
      .map(({ command, detail }) => `- ${command}${detail ? ` → ${detail}` : ''}`)
    const text = [TITLE, ...lines].join('\n')
    if (count(text) <= budgetTokens) return text
  }
  return ''
}
