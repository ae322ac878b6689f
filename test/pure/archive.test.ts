import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { archivePathOf } from '../../src/shared/compaction/archive.ts'

const AT = Date.UTC(2026, 10, 30, 11, 39, 47, 123)
const nameOf = (sessionId: string, compactionId: string) =>
  archivePathOf('.transcripts/', { sessionId, compactionId, startedAt: AT })

test('the name says session, time of the start and compaction', () => {
  assert.equal(
    nameOf('pr-4711', 't3.s2.pressure.0'),
    '.transcripts/pr-4711/transcript_2026-11-30T11-39-47-123Z_t3.s2.pressure.0.jsonl',
  )
})

test('no id leaves its folder, shares a name with another, or is too long for a file system', () => {
  assert.match(nameOf('..', 'x'), /^\.transcripts\/%2E%2E\/transcript_/)
  assert.match(nameOf('.', 'x'), /^\.transcripts\/%2E\//)
  assert.match(nameOf('s', '../../etc/passwd'), /_\.\.%2F\.\.%2Fetc%2Fpasswd\.jsonl$/)
  const ids = fc.oneof(
    fc.string({ minLength: 1, maxLength: 300, unit: 'binary' }),
    fc.constantFrom('.', '..', '/', 'a'.repeat(400)),
  )
  fc.assert(
    fc.property(ids, ids, ids, (sessionId, one, other) => {
      const parts = nameOf(sessionId, one).split('/')
      assert.equal(parts.length, 3)
      for (const part of parts) {
        assert.ok(Buffer.byteLength(part) <= 255 && part !== '.' && part !== '..')
        assert.match(part, /^[A-Za-z0-9._%-]+$/)
      }
      if (one !== other) assert.notEqual(nameOf(sessionId, one), nameOf(sessionId, other))
    }),
  )
})
