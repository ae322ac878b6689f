import type { UndoResult } from '../../client/index.ts'
import type { Run } from '../action.ts'
import { attemptOf } from '../attempt-of.ts'
import { served } from '../served.ts'
import { formatCount } from '../table.ts'

export const undo: Run<{ readonly id?: string }> = async (setting, [id = '', compactionId = ''], options) => {
  const { store } = await setting.stored(id)
  await attemptOf(store, id, compactionId)
  const session = (await setting.sessions()).get(id)
  const undone = await served(setting, id, options.id, (waiting) =>
    session.undoCompaction(compactionId, waiting),
  )
  setting.output.result({ sessionId: id, ...undone }, describeUndone(undone))
}

export const describeUndone = ({ messages, tokensBefore, tokensAfter, checkpointSeq }: UndoResult): string =>
  `${formatCount(messages)} messages are back in the place of checkpoint #${checkpointSeq}: ` +
  `about ${formatCount(tokensBefore)} → ${formatCount(tokensAfter)} tokens.`
