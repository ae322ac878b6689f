import { chmod, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { z } from 'zod'

const input = z.object({
  path: z.string().min(1).describe('Path of the file, relative to the working folder.'),
  before: z
    .string()
    .min(1)
    .describe('The text to replace, exactly as it stands in the file, long enough to be there once.'),
  after: z.string().describe('The text to put in its place.'),
})

/** Replaces one text of a file. The file is written anew beside itself and then renamed: a reader sees the old or the new one, which has its mode. */
export const editFileTool = (root: string) => ({
  name: 'edit_file',
  description: 'Replace a text that stands exactly once in a file.',
  input,
  async run(raw: unknown, { callId }: { readonly callId: string }): Promise<string> {
    const { path, before, after } = input.parse(raw)
    const file = await fileBelow(root, path)
    const old = textOf(await readFile(file), path)
    const { mode } = await stat(file)
    const found = old.split(before).length - 1
    if (found !== 1) throw new Error(complaint(path, found))
    const draft = `${file}.${callId.replace(/[^A-Za-z0-9_-]/g, '_')}.draft`
    await writeFile(
      draft,
      old.replace(before, () => after),
      { mode },
    )
    await chmod(draft, mode)
    await rename(draft, file)
    const line = old.slice(0, old.indexOf(before)).split('\n').length
    return `Replaced ${before.split('\n').length} lines by ${after.split('\n').length} at line ${line} of ${path}.`
  },
})

/** Written back, bytes that are no UTF-8 would be others. */
function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Error(
      `${path} is not text in UTF-8, and was not changed: use a command that keeps its encoding.`,
    )
  }
}

const complaint = (path: string, found: number): string =>
  found === 0
    ? `${path} does not hold this text: read the file, and copy it exactly, with its blanks.`
    : `${path} holds this text ${found} times: add lines around it until it is there once.`

/** Links are followed first, so that none leads out of the folder. */
async function fileBelow(root: string, path: string): Promise<string> {
  const file = await realpath(join(root, path))
  if (file.startsWith((await realpath(root)) + sep)) return file
  throw new Error(`${path} lies outside of the working folder. Give a path relative to it.`)
}
