import pc from 'picocolors'
import { isCheckpointNode } from '../../shared/compaction/checkpoint-node.ts'
import { isSurfaceType, type SessionEvent } from '../../shared/session/events.ts'
import type { Run } from '../action.ts'
import { drawEvent } from '../draw-event.ts'
import { leftBy } from '../left-by.ts'
import { readLog } from '../read-log.ts'

/** What was said, as it was. Checkpoints stand where they were written, and what the model no longer sees names what took its place; shorter copies are left out. */
export const transcript: Run<object> = async (setting, [id = '']) => {
  const { store } = await setting.stored(id)
  const events = await readLog(store, id)
  const left = leftBy(events)
  const said = events.filter((event) => isSaid(event))
  const human = said.map((event) => `${drawEvent(event)}${mark(events, left.get(event.seq))}`)
  setting.output.result(
    said.map((event) => ({ ...event, ...replacedBy(left.get(event.seq)) })),
    human.length === 0 ? `Nothing has been said in session ${id}.` : human.join('\n'),
  )
}

const isSaid = (event: SessionEvent): boolean =>
  event.type === 'compact/restore' ||
  (isSurfaceType(event.type) && (event.surfaceOp === 'append' || isCheckpointNode(event)))

const replacedBy = (seq: number | undefined) => (seq === undefined ? {} : { replacedBy: seq })

function mark(events: readonly SessionEvent[], seq: number | undefined): string {
  if (seq === undefined) return ''
  return pc.dim(` ${MARKS[events[seq]?.type ?? ''] ?? '[replaced by'} #${seq}]`)
}

const MARKS: Readonly<Record<string, string>> = {
  'tool/result': '[the model sees a shorter copy,',
  'user/message': '[replaced by the checkpoint',
  'compact/restore': '[undone by',
}
