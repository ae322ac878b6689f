import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'

// Packs the package, installs it in an empty folder as a user would, and uses every entry point there.
const repository = resolve(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'package-'))
const app = join(folder, 'app')
const installed = join(app, 'node_modules/durable-compaction')
const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  version: string
  exports: Record<string, string | { types: string; default: string }>
}
const entryPoints = Object.keys(manifest.exports).filter((name) => name !== './package.json')
const specifier = (entryPoint: string) => entryPoint.replace('.', 'durable-compaction')
const loaded = new Map<string, { names: string[]; packages: string[] }>()
const packed = packAndInstall()
after(() => rmSync(folder, { recursive: true, force: true }))

test('package: holds what it needs and nothing of the repository besides', () => {
  const paths = packed.files.map(({ path }) => path)
  assert.deepEqual([...new Set(paths.map((path) => path.split('/')[0]))].sort(), [
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'dist',
    'package.json',
  ])
  assert.ok(paths.every((path) => !path.startsWith('dist/') || /\.(js|d\.ts)$/.test(path)))
  assert.ok(packed.size < 1_000_000, `${packed.size} bytes packed`)
})

for (const entryPoint of entryPoints) {
  test(`package: ${specifier(entryPoint)} imports, with types`, () => {
    const target = manifest.exports[entryPoint]
    assert.ok(typeof target === 'object')
    assert.ok(existsSync(join(installed, target.types)), target.types)
    assert.notEqual(loadInApp(entryPoint).names.length, 0)
  })
}

test('package: a strict program that uses every entry point has no type errors', () => {
  const lines = entryPoints.map((name, index) => `export * as e${index} from '${specifier(name)}'`)
  writeFileSync(join(app, 'consumer.ts'), lines.join('\n'))
  const options = {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
  }
  writeFileSync(
    join(app, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: options, files: ['consumer.ts'] }),
  )
  run(app, process.execPath, join(repository, 'node_modules/typescript/bin/tsc'), '--project', '.')
})

test('package: Temporal’s SDK is the application’s own, never a second copy', () => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  const its = (names: object) => Object.keys(names).filter((name) => name.startsWith('@temporalio/'))
  assert.deepEqual(its(dependencies), [])
  assert.deepEqual(
    its(peerDependencies),
    ['activity', 'client', 'common', 'worker', 'workflow'].map((name) => `@temporalio/${name}`),
  )
  for (const name of its(peerDependencies)) {
    assert.equal(peerDependencies[name], peerDependencies['@temporalio/worker'])
    assert.ok(existsSync(join(app, 'node_modules', name)), name)
  }
  assert.ok(!existsSync(join(installed, 'node_modules/@temporalio')))
})

test('package: …/checkpoint imports nothing at all', () => {
  const source = readFileSync(join(installed, 'dist/shared/checkpoint-source.js'), 'utf8')
  assert.doesNotMatch(source, /\b(import|require)\b/)
  assert.deepEqual(loadInApp('./checkpoint').packages, [])
})

test('package: only …/worker loads the worker and its native part', () => {
  for (const entryPoint of entryPoints) {
    const native = loadInApp(entryPoint).packages.filter((name) =>
      /^@temporalio\/(worker|core-bridge)$/.test(name),
    )
    assert.equal(native.length > 0, entryPoint === './worker', `${entryPoint} loads ${native}`)
  }
})

test('package: …/core loads zod and nothing else', () => {
  assert.deepEqual(loadInApp('./core').packages, ['zod'])
})

test('package: what runs in the sandbox needs no Node module, no database and no token ranks', () => {
  for (const entryPoint of ['./workflow', './workflows']) {
    const others = loadInApp(entryPoint).packages.filter((name) => !/^(@temporalio\/|zod$)/.test(name))
    // What Temporal's own packages load, as the sandbox also does.
    const temporal = ['long', 'ms', 'nexus-rpc', 'protobufjs', '@protobufjs', 'tslib']
    assert.deepEqual(
      others.filter((name) => !temporal.some((its) => name.startsWith(its))),
      [],
      entryPoint,
    )
  }
})

test('package: its workflows bundle from a file of the user', () => {
  writeFileSync(
    join(app, 'workflows.js'),
    "export { agentSession, sessionCompaction } from 'durable-compaction/workflows'\n",
  )
  const source = `import { bundleWorkflowCode } from '@temporalio/worker'
    const { code } = await bundleWorkflowCode({ workflowsPath: ${JSON.stringify(join(app, 'workflows.js'))} })
    console.log(code.length)`
  const bytes = Number(
    run(app, process.execPath, '--input-type=module', '--eval', source).trim().split('\n').at(-1),
  )
  assert.ok(bytes > 100_000 && bytes < 4_000_000, `${bytes} bytes`)
})

test('package: the command runs', () => {
  const command = join(app, 'node_modules/.bin/durable-compaction')
  assert.equal(run(app, command, '--version').trim(), manifest.version)
  assert.match(run(app, command, '--help'), /Usage: durable-compaction/)
})

/** Imports an entry point once, in a process of its own: the names that it exports, the packages and Node modules that it loads. */
function loadInApp(entryPoint: string): { names: string[]; packages: string[] } {
  const known = loaded.get(entryPoint)
  if (known !== undefined) return known
  // Packages of the module system of before are in `require.cache`; the others are told by a resolve hook.
  const source = `import { createRequire, register } from 'node:module'
    const seen = new Set()
    const { port1, port2 } = new MessageChannel()
    port1.on('message', (url) => seen.add(url)).unref()
    const hook = \`let port; export const initialize = (data) => { port = data.port }
      export async function resolve(specifier, context, next) {
        const found = await next(specifier, context); port.postMessage(found.url); return found }\`
    register('data:text/javascript,' + encodeURIComponent(hook), { data: { port: port2 }, transferList: [port2] })
    const names = Object.keys(await import(${JSON.stringify(specifier(entryPoint))}))
    await new Promise((resolve) => setTimeout(resolve, 100))
    const files = [...seen, ...Object.keys(createRequire(import.meta.url).cache)]
    const packageOf = (file) => file.startsWith('node:') ? file : /.*node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(file)?.[1]
    const packages = files.map(packageOf)
    const others = [...new Set(packages)].filter((name) => name && name !== 'durable-compaction')
    console.log(JSON.stringify({ names, packages: others.sort() }))
    process.exit(0)`
  const result = JSON.parse(run(app, process.execPath, '--input-type=module', '--eval', source))
  loaded.set(entryPoint, result)
  return result
}

function packAndInstall(): { filename: string; size: number; files: { path: string }[] } {
  const listing = run(repository, 'npm', 'pack', '--json', '--silent', '--pack-destination', folder)
  const [result] = JSON.parse(listing)
  mkdirSync(app)
  writeFileSync(join(app, 'package.json'), '{ "name": "app", "private": true, "type": "module" }')
  run(app, 'npm', 'install', '--no-audit', '--no-fund', join(folder, result.filename))
  return result
}

/** @throws an error with the last lines that the command printed */
function run(cwd: string, command: string, ...args: string[]): string {
  const { NODE_OPTIONS: _, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  if (status === 0) return stdout
  const last = `${stdout}${stderr}`.trim().split('\n').slice(-30).join('\n')
  throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${last}`)
}
