import { existsSync } from 'node:fs'
import type { StartOptions as ClientStart } from '../../client/index.ts'
import { PRESETS } from '../../shared/compaction/presets.ts'
import type { Run } from '../action.ts'
import { COMMAND } from '../command-name.ts'
import { UsageError } from '../exit-codes.ts'
import { readJsonFile } from '../json-file.ts'

export interface StartOptions {
  readonly model: string
  readonly system?: string
  readonly tools?: readonly string[]
  readonly policy?: string
  readonly preset?: NonNullable<ClientStart['preset']>
  readonly wait: boolean
}

/** @throws UsageError */
function policyFrom(path: string): Record<string, unknown> {
  if (Object.hasOwn(PRESETS, path) && !existsSync(path))
    throw new UsageError(
      `--policy takes a JSON file, and there is no file ${path}: for the preset of that name say --preset ${path}.`,
    )
  return readJsonFile(path)
}

const SAY_WAITING_MS = 2_000

export const start: Run<StartOptions> = async (setting, [id = ''], options) => {
  const { model, system, tools, preset, wait } = options
  const policy = options.policy === undefined ? undefined : policyFrom(options.policy)
  const sessions = await setting.sessions()
  const waiting = setTimeout(
    () => setting.output.progress(`Waiting for a worker of task queue ${setting.places.taskQueue} …`),
    SAY_WAITING_MS,
  )
  const started = sessions.start(id, {
    model: model === 'none' ? null : model,
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools }),
    ...(policy === undefined ? {} : { policy }),
    ...(preset === undefined ? {} : { preset }),
    wait,
  })
  await started.finally(() => clearTimeout(waiting))
  const human = wait
    ? `Session ${id} runs. Talk to it: ${COMMAND} prompt ${id} "…"`
    : `Session ${id} is started; "${COMMAND} state ${id}" tells whether a worker has accepted it.`
  setting.output.result({ sessionId: id, accepted: wait }, human)
}
