import { text as readAll } from 'node:stream/consumers'
import type { Run } from '../action.ts'
import { COMMAND } from '../command-name.ts'
import { UsageError } from '../exit-codes.ts'
import { served } from '../served.ts'

export interface PinOptions {
  readonly seq?: number
  readonly id?: string
}

export const pin: Run<PinOptions> = async (setting, [id = '', text], { seq, id: requestId }) => {
  if ((text === undefined) === (seq === undefined))
    throw new UsageError('pin needs either a text or --seq, and not both.')
  await setting.stored(id)
  const what =
    seq === undefined
      ? text === '-'
        ? (await readAll(process.stdin)).replace(/\n$/, '')
        : (text ?? '')
      : { seq }
  const session = (await setting.sessions()).get(id)
  const pinned = await served(setting, id, requestId, (options) => session.pin(what, options))
  setting.output.result(
    { sessionId: id, ...pinned },
    `Pinned (${pinned.tokens} tokens), in every checkpoint from the next one on. To take it back: ${COMMAND} unpin ${id} ${pinned.id}`,
  )
}

export const unpin: Run<{ readonly id?: string }> = async (setting, [id = '', pinId = ''], options) => {
  await setting.stored(id)
  const session = (await setting.sessions()).get(id)
  const unpinned = await served(setting, id, options.id, (waiting) => session.unpin(pinId, waiting))
  setting.output.result(
    { sessionId: id, ...unpinned },
    `Pin ${pinId} is taken back; the next checkpoint is without it.`,
  )
}
