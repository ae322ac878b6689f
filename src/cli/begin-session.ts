import { existsSync } from 'node:fs'
import pc from 'picocolors'
import type { Session, StartOptions } from '../client/index.ts'
import { PRESETS } from '../shared/compaction/presets.ts'
import { isSessionError, SessionError } from '../shared/errors.ts'
import type { SessionRow } from '../shared/ports/store.ts'
import { settingsOf } from '../shared/session/settings.ts'
import { COMMAND } from './command-name.ts'
import { UsageError } from './exit-codes.ts'
import { readJsonFile } from './json-file.ts'
import { type DefaultModel, defaultModel } from './live-models.ts'
import type { Setting } from './setting.ts'

/** What a session is to have, as options name it. */
export interface SessionSettings {
  readonly model?: string
  readonly system?: string
  readonly tools?: readonly string[]
  readonly policy?: string
  readonly preset?: NonNullable<StartOptions['preset']>
}

/** Starts a session, also one that was closed, which keeps what is not named. Says which model a new one has when nobody named one. @throws SessionError `SessionConflict` that names commands */
export async function beginSession(
  setting: Setting,
  row: SessionRow | null,
  id: string,
  { model, policy, ...rest }: SessionSettings,
  wait = true,
): Promise<Session> {
  const byDefault = model === undefined && row === null ? defaultModel(setting.places.devModel) : undefined
  const options = {
    ...rest,
    model: model === 'none' ? null : (model ?? byDefault?.model ?? recordedModel(row)),
    ...(policy === undefined ? {} : { policy: policyFrom(policy) }),
    wait,
  }
  const sessions = await setting.sessions()
  if (byDefault !== undefined) setting.output.progress(pc.dim(choiceText(id, byDefault)))
  try {
    return await sessions.start(id, options)
  } catch (error) {
    throw isSessionError(error, 'SessionConflict') ? withCommands(id, error) : error
  }
}

/** @throws UsageError */
function policyFrom(path: string): Record<string, unknown> {
  if (Object.hasOwn(PRESETS, path) && !existsSync(path))
    throw new UsageError(
      `--policy takes a JSON file, and there is no file ${path}: for the preset of that name say --preset ${path}.`,
    )
  return readJsonFile(path)
}

const recordedModel = (row: SessionRow | null) => row && settingsOf(row.header).model

const choiceText = (id: string, { model, why }: DefaultModel): string =>
  `Model ${model}, ${why}. Another one: --model of a new session, or ${COMMAND} configure ${id} --model provider/model.`

function withCommands(id: string, { details }: SessionError): SessionError {
  const differing = Array.isArray(details['differing']) ? details['differing'].join(', ') : ''
  return new SessionError(
    'SessionConflict',
    `Session ${id} already runs with other settings${differing === '' ? '' : ` (${differing})`}: use another id, "${COMMAND} configure ${id}" to change the one that runs, or "${COMMAND} chat ${id}" to talk to it as it is.`,
  )
}
