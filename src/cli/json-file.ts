import { readFileSync } from 'node:fs'
import { UsageError } from './exit-codes.ts'

/** @throws UsageError */
export function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`Cannot read ${path}: ${error instanceof Error ? error.message : String(error)}.`)
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
