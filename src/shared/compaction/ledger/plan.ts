import { oneLine } from './clip.ts'
import type { Entry } from './entries.ts'
import type { CountTokens, Plan } from './types.ts'

const TITLE = '## Plan'
const TEXT_KEYS = ['content', 'step', 'title', 'text', 'task', 'subject', 'description', 'name']
const DONE = /^(?:completed?|done|finished|closed|cancelled|canceled|skipped)$/i
const ACTIVE = /^(?:in[_ -]?progress|active|doing|started|current)$/i
const DEPTH_MAX = 4
const ITEM_MAX_CHARS = 400

/** The newest task list among the tool inputs: an array of objects with a status and a text. */
export function readPlan(entries: readonly Entry[], previous: Plan | undefined): Plan | undefined {
  for (let i = entries.length - 1; i >= 0; i--) {
    const entry = entries[i]
    const plan = entry?.kind === 'call' ? planIn(entry.input, 0) : undefined
    if (plan) return plan
  }
  return previous
}

/** Whether a tool input is a task list. */
export const holdsPlan = (input: unknown): boolean => planIn(input, 0) !== undefined

function planIn(value: unknown, depth: number): Plan | undefined {
  if (depth > DEPTH_MAX || typeof value !== 'object' || value === null) return undefined
  const plan = Array.isArray(value) ? toPlan(value) : undefined
  if (plan) return plan
  for (const inner of Object.values(value)) {
    const found = planIn(inner, depth + 1)
    if (found) return found
  }
  return undefined
}

function toPlan(list: readonly unknown[]): Plan | undefined {
  const tasks = list.map(toTask)
  if (tasks.length === 0 || tasks.some((task) => task === undefined)) return undefined
  const known = tasks.filter((task) => task !== undefined)
  const done = known.filter(({ status }) => DONE.test(status))
  const open = known.filter(({ status }) => !DONE.test(status))
  return {
    open: open.map(({ text, status }) => ({ text, active: ACTIVE.test(status) })),
    done: done.length,
    lastDone: done.at(-1)?.text,
  }
}

function toTask(value: unknown): { text: string; status: string } | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const fields = value as Record<string, unknown>
  const status = fields['status']
  const text = TEXT_KEYS.map((key) => fields[key]).find((field) => typeof field === 'string')
  if (typeof status !== 'string' || typeof text !== 'string') return undefined
  return { text: oneLine(text, ITEM_MAX_CHARS), status }
}

/** Open tasks word for word, of the done ones their number and the last. Tasks that do not fit are counted. */
export function renderPlan(plan: Plan | undefined, budgetTokens: number, count: CountTokens): string {
  if (!plan || (plan.open.length === 0 && plan.done === 0)) return ''
  const last = plan.lastDone === undefined ? '' : `, last: ${oneLine(plan.lastDone, 120)}`
  const done = plan.done > 0 ? [`[x] ${plan.done} done${last}`] : []
  const open = plan.open.map(({ text, active }) => `${active ? '[~]' : '[ ]'} ${text}`)
  for (let shown = open.length; shown >= 0; shown--) {
    const hidden = open.length - shown
    const rest = hidden > 0 ? [`[ ] ${hidden} more`] : []
    const text = [TITLE, ...open.slice(0, shown), ...rest, ...done].join('\n')
    if (count(text) <= budgetTokens) return text
  }
  return ''
}
