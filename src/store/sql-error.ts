import { SessionError } from '../shared/errors.ts'

/** Another process holds the lock: worth another try, unlike every other failure. */
export const isBusy = (error: unknown): boolean => /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error))

const REMEDIES: readonly [pattern: RegExp, problem: string, remedy: string][] = [
  [/^SQLITE_(BUSY|LOCKED)/, 'is held by another process', 'end the process that holds it, or try again'],
  [/^SQLITE_(READONLY|PERM|AUTH)/, 'is read-only', 'make the file and its folder writable for this user'],
  [/^SQLITE_FULL/, 'has no room left', 'free disk space, or raise max_page_count'],
  [
    /^SQLITE_(CORRUPT|NOTADB|FORMAT)/,
    'is damaged or no session store',
    'restore it from a backup, or name another file',
  ],
  [
    /^SQLITE_CANTOPEN|^ConnectionFailed/,
    'cannot be opened',
    'create its folder, and make both readable and writable for this user',
  ],
  [
    /^SQLITE_(IOERR|NOLFS|NOMEM|PROTOCOL)/,
    'cannot be read or written',
    'check the disk; a network file system is not supported',
  ],
  [/connection is not open/, 'was closed', 'open the store again'],
]

/** The failure that a caller sees: `StoreUnavailable` with a remedy, or the error itself when it is none of SQLite's. */
export function storeError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || error instanceof SessionError) return error
  const sign = codeOf(error) || error.message
  const found = REMEDIES.find(([pattern]) => pattern.test(sign))
  if (found === undefined) return error
  const [, problem, remedy] = found
  return new SessionError(
    'StoreUnavailable',
    `The session store ${path} ${problem} (${error.message}): ${remedy}.`,
    {
      path,
      code: codeOf(error),
    },
  )
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
