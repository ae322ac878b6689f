import type { Run } from '../action.ts'
import { drawEvent } from '../draw-event.ts'
import { readLog } from '../read-log.ts'

export const transcript: Run<object> = async (setting, [id = '']) => {
  const { store } = await setting.stored(id)
  const said = (await readLog(store, id)).filter((event) => event.surfaceOp === 'append')
  const human = said.length === 0 ? `Nothing has been said in session ${id}.` : said.map(drawEvent).join('\n')
  setting.output.result(said, human)
}
