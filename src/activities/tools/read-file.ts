import { open } from 'node:fs/promises'
import { z } from 'zod'
import type { Tool } from '../../shared/ports/tool.ts'
import { confinedPath } from './confined-path.ts'

const MAX_BYTES = 1024 * 1024

const input = z.object({
  path: z.string().min(1).describe('Path of the file, relative to the working folder.'),
  offset: z.int().positive().optional().describe('First line to read, from 1.'),
  limit: z.int().positive().optional().describe('Number of lines to read.'),
})

/** Reads a text file below `root`, at most its first MiB. */
export function readFileTool(root: string): Tool {
  return {
    name: 'read_file',
    description: 'Read a text file. With offset and limit only some of its lines.',
    input,
    idempotent: true,
    async run(raw) {
      const { path, offset = 1, limit } = input.parse(raw)
      const { text, isCut } = await readStart(await confinedPath(root, path))
      const lines = text.split('\n')
      const wanted =
        offset === 1 && limit === undefined
          ? lines
          : lines.slice(offset - 1, limit === undefined ? undefined : offset - 1 + limit)
      if (wanted.length === 0)
        throw new Error(`${path} has ${lines.length} lines, asked was from line ${offset}.`)
      return wanted.join('\n') + (isCut ? `\n[only the first ${MAX_BYTES} bytes were read]` : '')
    },
  }
}

async function readStart(path: string): Promise<{ text: string; isCut: boolean }> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(Math.min(size, MAX_BYTES)),
      0,
      Math.min(size, MAX_BYTES),
      0,
    )
    const bytes = buffer.subarray(0, bytesRead)
    if (bytes.includes(0)) throw new Error('This is a binary file; only text files can be read.')
    return { text: bytes.toString('utf8'), isCut: size > MAX_BYTES }
  } finally {
    await file.close()
  }
}
