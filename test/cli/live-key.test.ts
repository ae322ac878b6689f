import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import { readDevState } from '../../src/cli/home.ts'
import { SessionClient } from '../../src/client/index.ts'
import { text } from '../../src/shared/session/content.ts'
import { sqliteStore } from '../../src/store/index.ts'
import {
  type AnthropicServer,
  openAnthropicServer,
  type Received,
  refuse,
  reply,
  streamText,
} from '../support/anthropic/server.ts'
import { sse, streamEvents } from '../support/anthropic/stream-events.ts'
import { eventually } from '../support/eventually.ts'
import { runCli, runCommand, type StartedCli, startCli } from '../support/run-cli.ts'

// A key in the environment of a worker, in front of a provider that repeats it wherever it can: nobody writes it down. And address and key come from there alone,
// whatever a session or a file of the working folder says.

const KEY = 'sk-ant-api03-canary-5f1c9e77d0b24a6e-AA'
const home = mkdtempSync(join(tmpdir(), 'dc-key-home-'))
const folder = mkdtempSync(join(tmpdir(), 'dc-key-work-'))
const PLACES = {
  DURABLE_COMPACTION_HOME: home,
  DURABLE_COMPACTION_STORE: undefined,
  TEMPORAL_ADDRESS: undefined,
  TEMPORAL_NAMESPACE: undefined,
}

let far: AnthropicServer
let trap: AnthropicServer
let dev: StartedCli
before(
  async () => {
    far = await openAnthropicServer()
    trap = await openAnthropicServer()
    far.answer = answer
    bait(folder)
    for (const [name, value] of Object.entries(PLACES)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    const keys = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: far.url, ANTHROPIC_AUTH_TOKEN: undefined }
    dev = startCli(['dev', '--root', folder], { ...PLACES, ...keys, DBG: '1' }, '', folder)
    await dev.says(/Ctrl-C ends it/)
  },
  { timeout: 120_000 },
)
after(async () => {
  dev.interrupt()
  await Promise.race([dev.done, sleep(20_000, undefined, { ref: false }).then(() => dev.kill())])
  far.close()
  trap.close()
  for (const made of [home, folder]) rmSync(made, { recursive: true, force: true })
})

/** Files in which some tools look for keys and addresses. */
function bait(root: string): void {
  const lines = `ANTHROPIC_API_KEY=sk-ant-of-a-file\nANTHROPIC_BASE_URL=${trap.url}\n`
  const json = JSON.stringify({ apiKey: 'sk-ant-of-a-file', baseURL: trap.url, base_url: trap.url })
  for (const name of ['.env', '.env.local', '.envrc']) writeFileSync(join(root, name), lines)
  for (const name of ['anthropic.json', 'durable-compaction.json', 'active_config'])
    writeFileSync(join(root, name), json)
  for (const name of ['.anthropic', 'configs', '.durable-compaction', '.config']) {
    mkdirSync(join(root, name))
    for (const file of ['config.json', 'default.json']) writeFileSync(join(root, name, file), json)
  }
}

/** What the far end does is what the prompt says; a summary is refused. */
function answer({ body }: Received, response: ServerResponse): void {
  const messages = body['messages'] as readonly { readonly content: readonly unknown[] }[]
  const said = JSON.stringify(messages.at(-1)?.content.at(-1))
  const echo = { 'x-echo': KEY, 'www-authenticate': `Bearer ${KEY}` }
  if (said.includes('refuse by JSON') || said.includes('summary'))
    refuse(response, 401, 'authentication_error', `invalid x-api-key ${KEY}`, echo)
  else if (said.includes('refuse by a page')) {
    response.writeHead(403, { 'content-type': 'text/html', ...echo })
    response.end(`<html><title>Denied: ${KEY}</title><pre>x-api-key: ${KEY}</pre></html>`)
  } else if (said.includes('refuse by an event')) {
    const error = { type: 'invalid_request_error', message: `no, ${KEY}` }
    const events = [...streamEvents({ content: [text('Half')] }).slice(0, 3), { type: 'error', error }]
    streamText(response, sse(events), echo).end()
  } else if (said.includes('show the environment')) {
    const input = { command: 'env; printenv ANTHROPIC_API_KEY; echo "$ANTHROPIC_API_KEY"; set' }
    reply(response, { content: [{ type: 'tool_use', id: 'toolu_1', name: 'run_command', input }] })
  } else reply(response, { content: [text('Done.')] }, echo)
}

describe('the key of a provider', () => {
  test('stands nowhere: store, Temporal’s files and histories, descriptions, output of worker and commands', {
    timeout: 240_000,
  }, async () => {
    const shown = [
      await command('start', 'canary', '--model', 'anthropic/claude-x', '--tools', 'run_command'),
    ]
    const prompts = [
      'show the environment',
      'refuse by JSON',
      'refuse by a page',
      'refuse by an event',
      'and go on',
    ]
    for (const prompt of prompts) shown.push(await command('prompt', 'canary', prompt))
    shown.push(await command('compact', 'canary'))
    for (const look of ['state', 'history', 'transcript', 'context', 'export'])
      shown.push(await command(look, 'canary'))
    assert.ok(far.received.length >= prompts.length, shown.join('\n'))
    assert.deepEqual(keysOf(far.received), [KEY])
    const said = shown.join('\n')
    for (const words of [/authentication: 401/, /403/, /Denied/, /Half|invalid-request/])
      assert.match(said, words, 'the failures are told')
    const { client, close } = await temporal()
    const described = []
    for await (const { workflowId, runId } of client.workflow.list()) {
      const handle = client.workflow.getHandle(workflowId, runId)
      described.push(plain(await handle.describe()), plain(await handle.fetchHistory()))
    }
    await close()
    assert.ok(described.length >= 4, 'session and compaction')
    const files = readdirSync(home, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile())
      .map((file) => readFileSync(join(file.parentPath, file.name)).toString('latin1'))
    assert.ok(
      files.some((bytes) => bytes.includes('refuse by a page')),
      'the store is among them',
    )
    for (const bytes of [...shown, ...described, ...files, dev.said()])
      assert.ok(
        !bytes.includes(KEY) && !bytes.includes(Buffer.from(KEY).toString('base64').slice(0, 40)),
        around(bytes),
      )
  })

  test('a session without a named model has that of the dev that runs, whatever this environment has', {
    timeout: 120_000,
  }, async () => {
    const chosen = /^Model anthropic\/claude-sonnet-5-5, the default of the dev that runs\. Another one: /m
    const keyless = { ANTHROPIC_API_KEY: undefined, ANTHROPIC_AUTH_TOKEN: undefined }
    const started = await runCli(['start', 'unnamed'], keyless)
    const chatted = await runCli(['chat', 'unnamed-2'], keyless, 'Hello.\n')
    for (const { code, stderr } of [started, chatted]) {
      assert.equal(code, 0, stderr)
      assert.match(stderr, chosen)
    }
    assert.equal(chatted.stdout, 'Done.\n')
  })

  test('start of a closed session keeps its model, its system prompt and its tools', {
    timeout: 120_000,
  }, async () => {
    const asked = ['--model', 'scripted/slow', '--tools', 'read_file', '--system', 'Be nice.']
    await command('start', 'kept', ...asked)
    await command('close', 'kept')
    await eventually(
      () => command('state', 'kept'),
      (state) => /^status +closed/m.test(state),
    )
    const { code, stderr } = await runCommand(['start', 'kept'])
    assert.deepEqual([code, stderr], [0, ''])
    const store = sqliteStore({ path: readDevState(home)?.storePath ?? '' })
    const { life, header } = (await store.session('kept')) ?? {}
    await store.close()
    assert.deepEqual(
      [life, header?.model, header?.system, header?.asked?.tools],
      [2, 'slow', 'Be nice.', ['read_file']],
    )
  })

  test('and the address: no session and no file of the working folder changes them', {
    timeout: 240_000,
  }, async () => {
    const { client, close, storePath, taskQueue } = await temporal()
    const store = sqliteStore({ path: storePath })
    const sessions = new SessionClient({ client, store, taskQueue, workerTimeoutMs: 60_000 })
    const others = {
      base_url: trap.url,
      baseURL: trap.url,
      api_key: 'sk-ant-of-a-session',
      headers: { 'x-api-key': 'other' },
    }
    const session = await sessions.start('elsewhere', { model: 'anthropic/claude-x', sampling: others })
    const before = far.received.length
    const { reason } = await (await session.prompt('Where am I?')).result({ timeoutMs: 120_000 })
    // They go to the provider like any setting, and it knows none of them.
    assert.equal(reason, 'error')
    assert.match(far.problems.splice(0).join(), /base_url: Extra inputs are not permitted/)
    assert.deepEqual(keysOf(far.received.slice(before)), [KEY])
    assert.equal(trap.received.length, 0)
    await store.close()
    await close()
  })
})

/** However the SDK sends it. */
const keysOf = (requests: readonly Received[]) => [
  ...new Set(
    requests.map(({ headers }) => headers['x-api-key'] ?? headers.authorization?.replace(/^Bearer /, '')),
  ),
]

async function command(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args)
  return `${args.join(' ')} → ${code}\n${stdout}\n${stderr}`
}

async function temporal() {
  const { address, namespace, storePath, taskQueue } = readDevState(home) ?? assert.fail('dev runs')
  const connection = await Connection.connect({ address, connectTimeout: '60s' })
  const client = new Client({ connection, namespace })
  return { client, storePath, taskQueue, close: () => connection.close() }
}

/** With the bytes of payloads as text. */
const plain = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => {
    if (part instanceof Uint8Array) return Buffer.from(part).toString('latin1')
    return typeof part === 'bigint' ? String(part) : part
  })

const around = (bytes: string): string => {
  const at = bytes.indexOf(KEY)
  return bytes.slice(Math.max(0, at - 200), at + 100)
}
