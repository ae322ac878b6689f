import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'

/** Folders that hold no text of the project. */
const SKIPPED = new Set(['.git', 'node_modules', 'dist', '.cache'])

/** Paths of the files below a folder, relative to `root`, in order of name; links are not followed. */
export async function* walkFiles(root: string, folder: string, signal: AbortSignal): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true })
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    signal.throwIfAborted()
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (!SKIPPED.has(entry.name)) yield* walkFiles(root, path, signal)
    } else if (entry.isFile()) {
      yield relative(root, path)
    }
  }
}
