import { homedir } from 'node:os'
import { join } from 'node:path'

/** The Temporal CLI that the project downloads, and that its figures were measured with. */
export const CLI_VERSION = '1.9.1'

/**
 * Where the downloaded CLI is kept, for all clones and projects of a user: `DURABLE_COMPACTION_CACHE`, else the
 * platform's cache folder.
 */
export function cacheFolder(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string {
  const chosen = env['DURABLE_COMPACTION_CACHE']
  if (chosen) return chosen
  return join(userCacheFolder(env, platform), 'durable-compaction')
}

function userCacheFolder(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  if (platform === 'win32') return env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local')
  if (platform === 'darwin') return join(homedir(), 'Library', 'Caches')
  return env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
}

/** The file that a download ends as; the SDK's own download gives it the same name. */
export function cachedCliPath(folder: string, platform: NodeJS.Platform = process.platform): string {
  return join(folder, `temporal-v${CLI_VERSION}${platform === 'win32' ? '.exe' : ''}`)
}
