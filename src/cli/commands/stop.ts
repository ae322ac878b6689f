import type { Run } from '../action.ts'

export interface CancelOptions {
  readonly prompt?: string
  readonly compaction?: string
  readonly reason?: string
}

export const cancel: Run<CancelOptions> = async (setting, [id = ''], options) => {
  const { compaction, prompt } = options
  const session = (await setting.sessions()).get(id)
  const reason = options.reason === undefined ? {} : { reason: options.reason }
  if (compaction !== undefined) await session.cancelCompaction(compaction, options.reason)
  else await session.cancelTurn({ ...reason, ...(prompt === undefined ? {} : { requestId: prompt }) })
  const what =
    compaction === undefined
      ? prompt === undefined
        ? 'its running turn, if there is one'
        : `prompt ${prompt}`
      : `compaction ${compaction}`
  setting.output.result({ sessionId: id, asked: true }, `Session ${id} was asked to stop ${what}.`)
}

export const close: Run<{ readonly reason?: string }> = async (setting, [id = ''], { reason }) => {
  await (await setting.sessions()).get(id).close(reason)
  setting.output.result(
    { sessionId: id, asked: true },
    `Session ${id} closes after the running turn; waiting prompts stay. start opens it again.`,
  )
}
