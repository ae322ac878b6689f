import { z } from 'zod'
import type { Tool } from '../../shared/ports/tool.ts'
import { confinedPath } from './confined-path.ts'
import { walkFiles } from './walk-files.ts'

const MAX_FILES = 2000

const input = z.object({
  path: z.string().min(1).optional().describe('Folder, relative to the working folder; default: all of it.'),
})

/** Lists the files below a folder of `root`, recursively, without dependencies and build output. */
export function listFilesTool(root: string): Tool {
  return {
    name: 'list_files',
    description: 'List all files below a folder, one path a line.',
    input,
    idempotent: true,
    async run(raw, { signal }) {
      const { path = '.' } = input.parse(raw)
      const top = await confinedPath(root, '.')
      const found: string[] = []
      for await (const file of walkFiles(top, await confinedPath(root, path), signal)) {
        if (found.length === MAX_FILES)
          return `${found.join('\n')}\n[more than ${MAX_FILES} files: list a folder of it]`
        found.push(file)
      }
      return found.length === 0 ? `${path} holds no files.` : found.join('\n')
    },
  }
}
