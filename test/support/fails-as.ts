import assert from 'node:assert/strict'
import { type ErrorName, isSessionError } from '../../src/shared/errors.ts'

/** The call fails by this name, with one sentence that matches all patterns: what, got, allowed, what to do. */
export const failsAs = (name: ErrorName, running: Promise<unknown>, ...patterns: readonly RegExp[]) =>
  assert.rejects(running, (error: unknown) => {
    assert.ok(isSessionError(error), `no typed error: ${String(error)}`)
    assert.equal(error.name, name, error.message)
    for (const pattern of patterns) assert.match(error.message, pattern)
    return true
  })
