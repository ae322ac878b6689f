import { archiveText } from '../../shared/compaction/archive.ts'
import type { SessionStore } from '../../shared/ports/store.ts'
import { keys } from '../../shared/session/keys.ts'
import { surfaceAt } from '../../shared/session/surface-at.ts'
import type { Run } from '../action.ts'
import { COMMAND } from '../command-name.ts'
import { NotFound } from '../exit-codes.ts'
import { logPages } from '../read-log.ts'

interface ExportOptions {
  readonly surface?: boolean
  readonly compaction?: string
}

export const exportLog: Run<ExportOptions> = async (setting, [id = ''], { surface, compaction }) => {
  const { store } = await setting.stored(id)
  if (compaction !== undefined) return print(await archiveOf(store, id, compaction))
  if (surface) return print(archiveText((await store.surface(id)).nodes))
  for await (const page of logPages(store, id)) for (const event of page) console.log(JSON.stringify(event))
}

function print(text: string): void {
  for (const line of text.split('\n').slice(0, -1)) console.log(line)
}

/** The bytes of the compaction's archive, by the store alone. */
async function archiveOf(store: SessionStore, sessionId: string, compactionId: string): Promise<string> {
  const start = await store.eventByKey(sessionId, keys.compactStart(compactionId))
  if (start === null) {
    throw new NotFound(
      `Session ${sessionId} has no compaction ${JSON.stringify(compactionId)} that began: "${COMMAND} history ${sessionId}" lists them.`,
    )
  }
  return archiveText(await surfaceAt(store, sessionId, start.seq))
}
