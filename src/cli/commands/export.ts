import type { Run } from '../action.ts'
import { logPages } from '../read-log.ts'

export const exportLog: Run<{ readonly surface?: boolean }> = async (setting, [id = ''], { surface }) => {
  const { store } = await setting.stored(id)
  const pages = surface ? [(await store.surface(id)).nodes] : logPages(store, id)
  for await (const page of pages) for (const event of page) console.log(JSON.stringify(event))
}
