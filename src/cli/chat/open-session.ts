import type { Session, SessionClient, StartOptions } from '../../client/index.ts'
import type { SessionRow } from '../../shared/ports/store.ts'
import { readJsonFile } from '../json-file.ts'
import { defaultModel } from '../live-models.ts'

/** What a new session is to have; a session that runs must have the same. */
export interface ChatSettings {
  readonly model?: string
  readonly system?: string
  readonly tools?: readonly string[]
  readonly policy?: string
  readonly preset?: NonNullable<StartOptions['preset']>
}

/** A session that is known goes on with what it has, also when it was closed. With settings, and for a new id, it is started. */
export async function openSession(
  sessions: SessionClient,
  row: SessionRow | null,
  id: string,
  settings: ChatSettings,
): Promise<Session> {
  if (row === null || Object.keys(settings).length > 0) return sessions.start(id, asked(settings))
  return row.closed ? sessions.start(id, recorded(row)) : sessions.get(id)
}

const asked = ({ model = defaultModel(), policy, ...rest }: ChatSettings): StartOptions => ({
  ...rest,
  model: model === 'none' ? null : model,
  ...(policy === undefined ? {} : { policy: readJsonFile(policy) }),
})

function recorded({ header }: SessionRow): StartOptions {
  const { provider, model, system, sampling, asked } = header
  const preset = asked?.preset as StartOptions['preset']
  return {
    model: model === null ? null : `${provider}/${model}`,
    system,
    sampling,
    tools: asked?.tools ?? [],
    ...(asked?.policy === undefined ? {} : { policy: asked.policy }),
    ...(preset === undefined ? {} : { preset }),
  }
}
