import type { CallFacts } from './calls.ts'
import { oneLine } from './clip.ts'
import { holdsPlan } from './plan.ts'
import type { CountTokens, DoneCall } from './types.ts'

const TITLE = '## Done (calls that succeeded)'
const CALL_MAX_CHARS = 160
const RESULT_MAX_CHARS = 80
/** Characters of a call or a result of which one line is made. */
const READ_CHARS = 2_000
const REMEMBERED_MAX = 100

/** Tools that only look, by the first word of their name, behind the prefix of a server that offers them; `output` as the last one. */
const LOOKS =
  /^(?:.*__)?(?:[Ww]eb_?)?(?:[Rr]ead|[Gg]et|[Ll]ist|[Ss]earch|[Ff]ind|[Gg]rep|[Gg]lob|[Vv]iew|[Ff]etch|[Ll]ookup|[Ss]how|[Dd]escribe|[Hh]istory|[Cc]ompact|LS|ls)(?![a-z])|(?:[a-z]O|_o)utput$/

/**
 * Calls whose effect nothing else in a checkpoint tells: of the successful ones those that neither run a shell script, nor edit a file, nor keep
 * the task list, nor only look. Oldest first; a repeated one counts. The session would do them again if only a summary spoke of them.
 */
export function trackDone(calls: readonly CallFacts[], previous: readonly DoneCall[]): DoneCall[] {
  const done = new Map(previous.map((each) => [each.call, each]))
  for (const { call, result, outcome, script, edits } of calls) {
    const isTold = script !== undefined || edits.length > 0 || LOOKS.test(call.tool) || holdsPlan(call.input)
    if (outcome !== 'ok' || isTold) continue
    const input = JSON.stringify(call.input) ?? ''
    const line = oneLine(`${call.tool} ${input}`.slice(0, READ_CHARS), CALL_MAX_CHARS)
    const times = (done.get(line)?.times ?? 0) + 1
    done.delete(line)
    done.set(line, {
      call: line,
      result: oneLine((result?.text ?? '').slice(0, READ_CHARS), RESULT_MAX_CHARS),
      times,
    })
  }
  return [...done.values()].slice(-REMEMBERED_MAX)
}

/** One line a call, with the beginning of its result. Of those that do not fit, the oldest ones, the number. */
export function renderDone(done: readonly DoneCall[], budgetTokens: number, count: CountTokens): string {
  for (let from = 0; from < done.length; from++) {
    const lines = done
      .slice(from)
      .map(
        ({ call, result, times }) =>
          `- ${call}${times > 1 ? ` ×${times}` : ''}${result === '' ? '' : ` → ${result}`}`,
      )
    const left = from > 0 ? [`[${from} earlier ones left out]`] : []
    const section = [TITLE, ...left, ...lines].join('\n')
    if (count(section) <= budgetTokens) return section
  }
  return ''
}

/** Those of two checkpoints, the earlier one's first. */
export function mergeDone(earlier: readonly DoneCall[], later: readonly DoneCall[]): DoneCall[] {
  const merged = new Map(earlier.map((each) => [each.call, each]))
  for (const each of later) {
    const times = (merged.get(each.call)?.times ?? 0) + each.times
    merged.delete(each.call)
    merged.set(each.call, { ...each, times })
  }
  return [...merged.values()].slice(-REMEMBERED_MAX)
}
