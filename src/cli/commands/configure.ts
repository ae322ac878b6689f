import type { Run } from '../action.ts'
import { UsageError } from '../exit-codes.ts'
import { readJsonFile } from '../json-file.ts'
import { served } from '../served.ts'

export interface ConfigureOptions {
  readonly model?: string
  readonly system?: string
  readonly tools?: readonly string[]
  readonly policy?: string
  readonly id?: string
}

export const configure: Run<ConfigureOptions> = async (setting, [id = ''], options) => {
  const { model, system, tools, policy, id: requestId } = options
  const changes = {
    ...(model === undefined ? {} : { model: model === 'none' ? null : model }),
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools }),
    ...(policy === undefined ? {} : { policy: readJsonFile(policy) }),
  }
  if (Object.keys(changes).length === 0)
    throw new UsageError('configure needs at least one of --model, --system, --tools, --policy.')
  await setting.stored(id)
  const session = (await setting.sessions()).get(id)
  const done = await served(setting, id, requestId, (waiting) => session.configure(changes, waiting))
  setting.output.result(
    { sessionId: id, ...done },
    done.changed
      ? `Session ${id} has other settings from now on (event #${done.seq}).`
      : `Session ${id} has these settings already (event #${done.seq}).`,
  )
}
