import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import type { Tool } from '../../shared/ports/tool.ts'
import { confinedPath } from './confined-path.ts'
import { walkFiles } from './walk-files.ts'

const MAX_MATCHES = 200
const MAX_FILE_BYTES = 2 * 1024 * 1024
const MAX_LINE_CHARS = 300

const input = z.object({
  text: z.string().min(1).describe('Text to find, literally, in any case.'),
  path: z
    .string()
    .min(1)
    .optional()
    .describe('Folder to search, relative to the working folder; default: all of it.'),
})

/** Finds a literal text in the files below a folder of `root`: `path:line: text`, at most 200 lines. */
export function searchFilesTool(root: string): Tool {
  return {
    name: 'search_files',
    description: 'Find a text in all files below a folder; answers path:line: text.',
    input,
    idempotent: true,
    async run(raw, { signal }) {
      const { text, path = '.' } = input.parse(raw)
      const top = await confinedPath(root, '.')
      const found: string[] = []
      for await (const file of walkFiles(top, await confinedPath(root, path), signal)) {
        for await (const match of matches(join(top, file), text.toLowerCase())) {
          found.push(`${file}:${match}`)
          if (found.length === MAX_MATCHES)
            return `${found.join('\n')}\n[stopped after ${MAX_MATCHES} matches]`
        }
      }
      return found.length === 0 ? `No file holds ${JSON.stringify(text)}.` : found.join('\n')
    },
  }
}

async function* matches(path: string, wanted: string): AsyncGenerator<string> {
  if ((await stat(path)).size > MAX_FILE_BYTES) return
  const lines = createInterface({
    input: createReadStream(path, 'utf8'),
    crlfDelay: Number.POSITIVE_INFINITY,
  })
  let number = 0
  for await (const line of lines) {
    number++
    if (line.includes('\0')) return
    if (line.toLowerCase().includes(wanted)) yield `${number}: ${line.trim().slice(0, MAX_LINE_CHARS)}`
  }
}
