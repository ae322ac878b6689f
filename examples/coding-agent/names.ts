import { createHash } from 'node:crypto'
import { basename } from 'node:path'

const mark = (root: string): string => createHash('sha256').update(root).digest('hex').slice(0, 8)

/** One queue a folder: the tools of a worker act in its folder, so no other worker may take their calls. */
export const taskQueueOf = (root: string): string => `coding-agent-${mark(root)}`

/** The session of a folder, or a further one with a name. */
export function sessionOf(root: string, name = 'main'): string {
  const parts = [basename(root).slice(0, 24), mark(root), name]
  return parts
    .map((part) => part.replace(/[^A-Za-z0-9._-]/g, '-'))
    .join('.')
    .slice(0, 64)
}
