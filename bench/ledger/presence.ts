import { type Block, type Items, itemsOf } from './own-recogniser.ts'

/** `folder/: a.ts*2+ b.ts`: the one abbreviation of a checkpoint that a reader has to undo. */
const FOLDER_LINE = /^"?([^"\s]*\/)"?: (.+)$/

/** What a reader of a checkpoint (or of any text) finds in it. */
function itemsInText(text: string, root: string): { items: Items; text: string } {
  const whole: Block = { by: 'world', text, commands: [] }
  const items = itemsOf(whole, root)
  for (const line of text.split('\n')) {
    const [, folder, files = ''] = FOLDER_LINE.exec(line) ?? []
    if (folder === undefined) continue
    for (const marked of files.split(' ')) {
      const file = marked.replace(/\*\d+\+?$/, '')
      items.add(`path ${file}`)
      items.add(`path ${folder === './' ? '' : folder}${file}`)
    }
  }
  return { items, text }
}

/** The share of the wanted items that a text holds. */
export function recall(wanted: Items, text: string, root: string): number {
  if (wanted.size === 0) return 1
  const found = itemsInText(text, root)
  let hits = 0
  for (const item of wanted) {
    const command = /^command (.*)$/.exec(item)?.[1]
    if (found.items.has(item) || (command !== undefined && text.includes(command))) hits++
  }
  return hits / wanted.size
}
