import { randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Writes a file so that its name never stands for a part of it, also after a power cut. A file that has these bytes already is left alone. Only its owner may read it:
 * it holds a conversation.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  if (await holds(path, text)) return
  const folder = dirname(path)
  await makeFolder(folder)
  // A name of its own: a worker that was thought dead may be writing, too.
  const partial = `${path}.${randomUUID().slice(0, 8)}.tmp`
  try {
    await writeSynced(partial, text)
    await rename(partial, path)
  } catch (error) {
    await rm(partial, { force: true }).catch(() => undefined)
    throw error
  }
  await syncFolder(folder)
}

/** Not `mkdir` with `recursive`: Node tries for ever where a folder that is there refuses its child as missing, as automounters and `/proc` do. */
async function makeFolder(path: string): Promise<void> {
  const make = async () => {
    try {
      await mkdir(path, { mode: 0o700 })
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }
  try {
    await make()
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error
    await makeFolder(dirname(path))
    await make()
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

async function holds(path: string, text: string): Promise<boolean> {
  try {
    return (await readFile(path, 'utf8')) === text
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes the new name durable. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return // Where a folder cannot be opened.
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
