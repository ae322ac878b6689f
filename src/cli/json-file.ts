import { readFileSync } from 'node:fs'
import { UsageError } from './exit-codes.ts'

/** @throws UsageError */
export function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`Cannot read ${path}: ${reasonOf(error)}.`)
  }
}

/** A JSON object from a file. @throws UsageError */
export function readJsonFile(path: string): Record<string, unknown> {
  const text = readTextFile(path)
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${error instanceof Error ? error.message : String(error)}.`)
  }
  throw new UsageError(`${path} must hold a JSON object.`)
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not read it',
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return REASONS['code' in error ? String(error.code) : ''] ?? error.message
}
