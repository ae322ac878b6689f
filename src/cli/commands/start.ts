import type { Run } from '../action.ts'
import { beginSession, type SessionSettings } from '../begin-session.ts'
import { COMMAND } from '../command-name.ts'

export interface StartOptions extends SessionSettings {
  readonly wait: boolean
}

const SAY_WAITING_MS = 2_000

export const start: Run<StartOptions> = async (setting, [id = ''], options) => {
  const { wait, ...settings } = options
  const store = await setting.store()
  const row = await store.session(id)
  const waiting = setTimeout(
    () => setting.output.progress(`Waiting for a worker of task queue ${setting.places.taskQueue} …`),
    SAY_WAITING_MS,
  )
  const started = beginSession(setting, row, id, settings, wait)
  await started.finally(() => clearTimeout(waiting))
  const human = wait
    ? `Session ${id} runs. Talk to it: ${COMMAND} prompt ${id} "…"`
    : `Session ${id} is started; "${COMMAND} state ${id}" tells whether a worker has accepted it.`
  setting.output.result({ sessionId: id, accepted: wait }, human)
}
