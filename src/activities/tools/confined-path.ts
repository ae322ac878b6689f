import { realpath } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/**
 * The real path of `path` below `root`. Symbolic links are followed before the check, so that none leads out; a file that does not exist yet is
 * judged by its nearest existing folder.
 *
 * @throws Error when it lies outside
 */
export async function confinedPath(root: string, path: string): Promise<string> {
  const realRoot = await realpath(root)
  const wanted = resolve(realRoot, path)
  const real = await realOrNearest(wanted)
  if (isBelow(realRoot, real)) return real
  throw new Error(`${path} lies outside of the folder that this tool may use. Give a path relative to it.`)
}

async function realOrNearest(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (!isMissing(error) || dirname(path) === path) throw error
    return join(await realOrNearest(dirname(path)), path.slice(dirname(path).length).replace(/^[\\/]/, ''))
  }
}

function isBelow(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way))
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'
