import { chmod, mkdir, rename, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import type { Tool } from '../../shared/ports/tool.ts'
import { confinedPath } from './confined-path.ts'

const MAX_CHARS = 1024 * 1024

const input = z.object({
  path: z.string().min(1).describe('Path of the file, relative to the working folder.'),
  content: z.string().max(MAX_CHARS).describe('The whole new content.'),
})

/** Writes a whole file below `root`, atomically: readers see the old or the new content. A file keeps its mode. */
export function writeFileTool(root: string): Tool {
  return {
    name: 'write_file',
    description: 'Write a text file, replacing it when it exists. Creates missing folders.',
    input,
    idempotent: true,
    async run(raw, { callId }) {
      const { path, content } = input.parse(raw)
      const target = await confinedPath(root, path)
      await mkdir(dirname(target), { recursive: true })
      const draft = `${target}.${callId.replace(/[^A-Za-z0-9_-]/g, '_')}.draft`
      const old = await stat(target).catch(() => undefined)
      await writeFile(draft, content, { mode: old?.mode ?? 0o666 })
      if (old !== undefined) await chmod(draft, old.mode)
      await rename(draft, target)
      return `Wrote ${Buffer.byteLength(content)} bytes to ${path}.`
    },
  }
}
