import type { CancelReceipt } from '../../client/index.ts'
import type { Run } from '../action.ts'
import { COMMAND } from '../command-name.ts'
import { NotFound } from '../exit-codes.ts'

export interface CancelOptions {
  readonly prompt?: string
  readonly compaction?: string
  readonly reason?: string
}

export const cancel: Run<CancelOptions> = async (setting, [id = ''], options) => {
  const { compaction, prompt } = options
  const session = (await setting.sessions()).get(id)
  const reason = options.reason === undefined ? {} : { reason: options.reason }
  const receipt =
    compaction === undefined
      ? await session.cancelTurn({ ...reason, ...(prompt === undefined ? {} : { requestId: prompt }) })
      : await session.cancelCompaction(compaction, options.reason)
  if (receipt.stopped === 'nothing') {
    const what =
      compaction === undefined
        ? prompt === undefined
          ? 'no turn runs'
          : `no prompt ${prompt} waits or runs`
        : `no compaction ${compaction} waits or runs`
    throw new NotFound(`Nothing to cancel in session ${id}: ${what}.${whatGoesOn(id, receipt)}`)
  }
  setting.output.result({ sessionId: id, ...receipt }, describeReceipt(receipt) + whatGoesOn(id, receipt))
}

/** One sentence about what a cancel has stopped. */
function describeReceipt({ stopped, turn, compactionId }: CancelReceipt): string {
  const compaction = compactionId === null ? '' : `compaction ${compactionId}`
  switch (stopped) {
    case 'turn':
      return `Stopped ${turn === null ? 'the turn that was starting' : `turn ${turn}`}${compaction === '' ? '' : ` with ${compaction}`}.`
    case 'compaction':
      return `Stopped ${compaction}.`
    case 'prompt':
      return 'Took back the prompt, which had not begun.'
    case 'request':
      return 'Took back the request; a compaction that others asked for goes on.'
    default:
      return 'The turn that is starting stops if it is the named one.'
  }
}

const MANUAL = /^(?:manual|region)\./

function whatGoesOn(id: string, { goesOn: { turn, compactionId } }: CancelReceipt): string {
  if (compactionId !== null && MANUAL.test(compactionId))
    return ` Compaction ${compactionId} goes on; stop it: ${COMMAND} cancel ${id} --compaction ${compactionId.replace(MANUAL, '')}`
  return turn === null ? '' : ` Turn ${turn} goes on.`
}

export const close: Run<{ readonly reason?: string }> = async (setting, [id = ''], { reason }) => {
  await (await setting.sessions()).get(id).close(reason)
  setting.output.result(
    { sessionId: id, asked: true },
    `Session ${id} closes after the running turn; waiting prompts stay. start opens it again.`,
  )
}
