import type { z } from 'zod'
import { nearName } from '../near-name.ts'

/** What is wrong with one setting: the sentence for people, and its parts for code. */
export interface PolicyProblem {
  /** Path of the setting, for example `policy.prune.headChars`. */
  readonly field: string
  /** What the setting must be, or what it contradicts. */
  readonly limit: string
  /** A number or truth value as it is, anything else as it is shown. */
  readonly value: number | boolean | string
  readonly message: string
}

/** One sentence for one setting: field, limit, value. `value` undefined is written as "nothing". */
export function policyProblem(field: string, limit: string, value: unknown): PolicyProblem {
  return { field, limit, value: plain(value), message: `${field} ${limit}, got ${shown(value)}` }
}

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

/** What a schema says of a raw policy, as sentences. `settingsAt` names the settings that an object at a path may have. */
export function schemaProblems(
  issues: readonly Issue[],
  raw: unknown,
  settingsAt: (path: Path) => readonly string[],
): PolicyProblem[] {
  return issues.flatMap((issue) => issueProblems(issue, raw, [], settingsAt))
}

function issueProblems(
  issue: Issue,
  raw: unknown,
  under: Path,
  settingsAt: (path: Path) => readonly string[],
): PolicyProblem[] {
  const path = [...under, ...issue.path]
  if (issue.code === 'invalid_union') {
    const meant = issue.errors.find((branch) =>
      branch.every((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys'),
    )
    if (meant !== undefined) return meant.flatMap((inner) => issueProblems(inner, raw, path, settingsAt))
  }
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => unknownKey(key, valueAt(raw, [...path, key]), path, settingsAt(path)))
  }
  return [policyProblem(fieldName(path), limitOf(issue), valueAt(raw, path))]
}

function unknownKey(key: string, value: unknown, path: Path, known: readonly string[]): PolicyProblem {
  const near = nearName(key, known)
  const limit =
    near === undefined
      ? `is no setting; there are ${known.join(', ')}`
      : `is no setting; did you mean ${near}?`
  const field = fieldName([...path, key])
  return { field, limit, value: plain(value), message: `${field} ${limit}` }
}

const KIND: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

function limitOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KIND[issue.expected] ?? issue.expected}`
    case 'too_small':
      if (issue.origin === 'string' || issue.origin === 'array') return 'must not be empty'
      return issue.inclusive ? `must be at least ${issue.minimum}` : `must be above ${issue.minimum}`
    case 'too_big': {
      if (issue.origin === 'array') return `must have at most ${issue.maximum}`
      const what = issue.origin === 'string' ? ' characters' : ''
      return issue.inclusive
        ? `must be at most ${issue.maximum}${what}`
        : `must be below ${issue.maximum}${what}`
    }
    case 'invalid_value':
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`
    case 'invalid_union':
      return issue.message === 'Invalid input' ? 'must be an object of settings, or false' : issue.message
    default:
      return issue.message
  }
}

const fieldName = (path: Path): string =>
  path.reduce<string>(
    (name, part) => (typeof part === 'number' ? `${name}[${part}]` : `${name}.${String(part)}`),
    'policy',
  )

function valueAt(raw: unknown, path: Path): unknown {
  let value = raw
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<PropertyKey, unknown>)[part]
  }
  return value
}

const plain = (value: unknown): PolicyProblem['value'] =>
  typeof value === 'number' || typeof value === 'boolean' ? value : shown(value)

/** The value as a person would write it, short. */
function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value !== 'object' && typeof value !== 'string') return String(value)
  const json = asJson(value)
  return json.length <= 120 ? json : `${json.slice(0, 117)}...`
}

function asJson(value: unknown): string {
  try {
    return String(JSON.stringify(value))
  } catch {
    return 'an object that is no JSON'
  }
}
