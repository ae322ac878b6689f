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

/** SQLite's primary codes, the last byte of an extended one: the driver has no name for some of those, such as that of a folder that is read-only. */
const PRIMARY: Readonly<Record<number, string>> = {
  3: 'SQLITE_PERM',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  23: 'SQLITE_AUTH',
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (typeof code !== 'string') return ''
  const number = /^UNKNOWN_SQLITE_ERROR_(\d+)$/.exec(code)?.[1]
  return number === undefined ? code : (PRIMARY[Number(number) & 0xff] ?? code)
}
