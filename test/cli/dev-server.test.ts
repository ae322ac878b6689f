import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import { obtainServer } from '../../src/worker/dev-server/obtain-server.ts'
import { startDevServer, untilReady } from '../../src/worker/dev-server/start-dev-server.ts'

const cliPath = process.env['TEMPORAL_CLI_PATH'] ?? ''
assert.ok(cliPath, 'TEMPORAL_CLI_PATH is not set: run through `npm test`')

const ownServer = () => ({ env: { ...process.env, TEMPORAL_ADDRESS: undefined, TEMPORAL_CLI_PATH: cliPath } })

test('dev server: starts on free ports, shows its page, ends for good', async () => {
  const server = await obtainServer({ ...ownServer(), ui: true })
  try {
    assert.match(server.origin, /^Temporal CLI \d+\.\d+\.\d+ \(TEMPORAL_CLI_PATH: /)
    const page = await fetch(server.uiUrl ?? '')
    assert.equal(page.status, 200)
  } finally {
    await server.stop()
  }
  assert.ok(await untilReady(server.address, server.namespace, 0), 'it still answers')
})

test('dev server: ends with the process that started it, also when that is killed', async () => {
  const module = new URL('../../src/worker/dev-server/start-dev-server.ts', import.meta.url)
  const source = `import { startDevServer } from ${JSON.stringify(module.href)}
    const { address } = await startDevServer({ cliPath: ${JSON.stringify(cliPath)} })
    console.log(address)
    setInterval(() => {}, 1000)`
  const owner = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [address] = (await once(createInterface(owner.stdout), 'line')) as [string]
  assert.equal(await untilReady(address, 'default', 0), undefined)
  owner.kill('SIGKILL')
  for (let tries = 0; (await untilReady(address, 'default', 0)) === undefined; tries++) {
    assert.ok(tries < 600, 'the server outlived its owner')
    await sleep(100)
  }
})

test('dev server: with a file, what it acknowledged is there after kill and restart on the same port', async (t) => {
  const dbFilename = join(makeFolder(t), 'temporal.db')
  const first = await startDevServer({ cliPath, dbFilename })
  const port = Number(first.address.split(':')[1])
  await withClient(first.address, (client) =>
    client.workflow.start('nobodyRunsIt', { workflowId: 'kept', taskQueue: 'none' }),
  )
  await first.kill()
  const second = await startDevServer({ cliPath, dbFilename, port })
  try {
    assert.equal(second.address, first.address)
    const { status } = await withClient(second.address, (client) =>
      client.workflow.getHandle('kept').describe(),
    )
    assert.equal(status.name, 'RUNNING')
  } finally {
    await second.stop()
  }
})

test('dev server: a port that another process takes first costs another start, no failure', async (t) => {
  const folder = makeFolder(t)
  const unlucky = join(folder, 'temporal')
  const once = `[ -e ${folder}/tried ] || { touch ${folder}/tried; echo 'bind: address already in use' >&2; exit 1; }`
  writeFileSync(unlucky, `#!/bin/sh\n${once}\nexec ${cliPath} "$@"\n`)
  chmodSync(unlucky, 0o755)
  const server = await startDevServer({ cliPath: unlucky })
  assert.equal(await untilReady(server.address, server.namespace, 0), undefined)
  await server.stop()
})

test('dev server: passes settings on; a CLI that refuses them is quoted', async () => {
  const dynamicConfig = { 'limit.maxIDLength': 300, 'frontend.keepAliveMinTime': '10s' }
  const server = await startDevServer({ cliPath, dynamicConfig })
  try {
    const start = (length: number) =>
      withClient(server.address, (client) =>
        client.workflow.start('nobodyRunsIt', { workflowId: 'i'.repeat(length), taskQueue: 'none' }),
      )
    await start(300)
    await assert.rejects(start(301))
  } finally {
    await server.stop()
  }
})

test('dev server: a CLI that ends at once → its own words', async (t) => {
  const broken = join(makeFolder(t), 'temporal')
  writeFileSync(broken, '#!/bin/sh\necho "cannot open the database" >&2\nexit 1\n')
  chmodSync(broken, 0o755)
  await assert.rejects(startDevServer({ cliPath: broken }), {
    name: 'TemporalServerUnavailable',
    message: `The development server ${broken} did not start: it ended at once: cannot open the database`,
  })
})

test('dev server: a port in use → its number and what to do, for the server and for the page', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  t.after(() => holder.close())
  const { port } = holder.address() as { port: number }
  const expected = {
    name: 'TemporalServerUnavailable',
    message: new RegExp(`Port ${port} cannot be used.*Choose another`),
  }
  await assert.rejects(startDevServer({ cliPath, port }), expected)
  await assert.rejects(startDevServer({ cliPath, ui: port }), expected)
})

test('TEMPORAL_ADDRESS: a running server is used and left running', async () => {
  const server = await startDevServer({ cliPath })
  try {
    const found = await obtainServer({ env: { TEMPORAL_ADDRESS: server.address } })
    assert.deepEqual([found.address, found.namespace], [server.address, 'default'])
    await found.stop()
    await found.kill()
    assert.equal(await untilReady(server.address, 'default', 0), undefined)
    await assert.rejects(
      obtainServer({ env: { TEMPORAL_ADDRESS: server.address, TEMPORAL_NAMESPACE: 'nowhere' } }),
      {
        message: /namespace nowhere does not answer/,
      },
    )
  } finally {
    await server.stop()
  }
})

test('TEMPORAL_ADDRESS: nothing there is an error with the remedy, never another server', async () => {
  await assert.rejects(obtainServer({ env: { ...process.env, TEMPORAL_ADDRESS: '127.0.0.1:1' } }), {
    name: 'TemporalServerUnavailable',
    message: /^TEMPORAL_ADDRESS is 127\.0\.0\.1:1, but .* unset TEMPORAL_ADDRESS/,
  })
})

async function withClient<T>(address: string, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address })
  try {
    return await use(new Client({ connection }))
  } finally {
    await connection.close()
  }
}

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'dev-server-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
