import type { Session } from '../../client/index.ts'
import type { SessionRow } from '../../shared/ports/store.ts'
import { beginSession, type SessionSettings } from '../begin-session.ts'
import type { Setting } from '../setting.ts'

/** A session that is known goes on with what it has, also when it was closed. With settings, and for a new id, it is started. */
export async function openSession(
  setting: Setting,
  row: SessionRow | null,
  id: string,
  settings: SessionSettings,
): Promise<Session> {
  if (row !== null && !row.closed && Object.keys(settings).length === 0)
    return (await setting.sessions()).get(id)
  return beginSession(setting, row, id, settings)
}
