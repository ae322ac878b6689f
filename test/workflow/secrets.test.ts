import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inspect } from 'node:util'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { DefaultLogger, MetricsBuffer } from '@temporalio/worker'
import type { Session } from '../../src/client/index.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import { anthropicModels } from '../../src/worker/index.ts'
import {
  compactionHistoryQuery,
  contextReadingQuery,
  sessionStateQuery,
} from '../../src/workflows/messages.ts'
import { type AnthropicServer, openAnthropicServer, refuse, reply } from '../support/anthropic/server.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'
import { type SampleSecret, sampleSecrets } from '../support/sample-secrets.ts'
import { quietRuntime } from '../support/temporal.ts'

// What people paste, tools print and models repeat is in the store, and nowhere else: neither in Temporal nor in what a worker says of itself.

const secrets = sampleSecrets()
const ALL = secrets.map(({ kind, text }) => `${kind}: ${text}`).join('\n')
const [key = assert.fail()] = secrets
/** Stands in the input of the workflow, as documented: the search must find it. */
const MARK = `Mark ${sampleSecrets()[0]?.core}.`
const FILLER = 'word '.repeat(1_500)
const PATIENCE = { timeoutMs: 120_000 }

const logged: string[] = []
const metrics = new MetricsBuffer({ maxBufferSize: 100_000 })
quietRuntime({
  logger: new DefaultLogger('TRACE', (entry) => logged.push(shown(entry))),
  telemetryOptions: {
    logging: { filter: { core: 'DEBUG', other: 'INFO' }, forward: {} },
    metrics: { buffer: metrics },
  },
})

const shown = (value: unknown) => inspect(value, { depth: 20, maxStringLength: null, maxArrayLength: null })

const tool = (name: string, run: Tool['run']): Tool => ({
  name,
  description: name,
  input: { jsonSchema: { type: 'object' } },
  run,
})
const fails: Tool['run'] = async () => {
  throw new Error(`cannot connect: ${ALL}`)
}
const tools: Tool[] = [
  tool('prints', async () => `${ALL}\n${FILLER}`),
  tool('fails', fails),
  { ...tool('fails_twice', fails), idempotent: true, retries: 1 },
]

let wire: AnthropicServer
let real: RealSessions
before(async () => {
  wire = await openAnthropicServer()
  real = await openRealSessions({ anthropic: anthropicModels(wire.client({ apiKey: key.text })) }, tools)
})
after(async () => {
  await real.close()
  wire.close()
})

const call = (name: string): ContentBlock => ({
  type: 'tool_use',
  id: `toolu_${name}`,
  name,
  input: { say: ALL },
})

/** Every string in a value, its bytes as text, and what base64 in it stands for. */
function* stringsIn(value: unknown, decode = 2): Generator<string> {
  if (typeof value === 'string') {
    yield value
    if (decode === 0) return
    const spelled = value.replaceAll('\\/', '/')
    for (const [run] of spelled.matchAll(/[A-Za-z0-9+/_-]{24,}={0,2}/g))
      for (const skip of [0, 1, 2, 3])
        yield* stringsIn(Buffer.from(run.slice(skip), 'base64').toString('latin1'), decode - 1)
  } else if (value instanceof Uint8Array) yield* stringsIn(Buffer.from(value).toString('latin1'), decode)
  else if (typeof value === 'object' && value !== null)
    for (const [name, part] of Object.entries(value)) {
      yield name
      yield* stringsIn(part, decode)
    }
}

/** Kinds whose core is in it. */
function found(value: unknown, of: readonly Pick<SampleSecret, 'core' | 'kind'>[] = secrets): string[] {
  const all = [...stringsIn(value)].join('\n')
  return of.filter(({ core }) => all.includes(core)).map(({ kind }) => kind)
}

/** All that Temporal holds of a session and of its compactions, and all that it answers. */
async function temporalOf(session: Session): Promise<unknown[]> {
  const children = (await session.compactions()).map(
    ({ compactionId }) => `${session.id}/compact/${compactionId}`,
  )
  assert.ok(children.length >= 2)
  const kept = [session.id, ...children].map(async (id) => {
    const handle = real.client.workflow.getHandle(id)
    return [historyToJSON(await handle.fetchHistory()), (await handle.describe()).raw]
  })
  const told = [
    session.workflow.query(sessionStateQuery),
    session.workflow.query(compactionHistoryQuery),
    session.workflow.query(contextReadingQuery),
  ]
  return Promise.all([...kept, ...told])
}

test(`${secrets.length} kinds of secret in prompts, calls, results, answers and summaries: none is in Temporal, logs, metrics or errors`, async () => {
  assert.ok(secrets.length >= 30)
  const errors: unknown[] = []
  let isRefusing = false
  wire.answer = ({ json }, response) => {
    if (isRefusing) return refuse(response, 401, 'authentication_error', `invalid x-api-key ${key.text}`)
    if (json.includes('toolu_fails')) return reply(response, { content: [text(`I saw\n${ALL}`)] })
    return reply(response, { content: [text(ALL), ...tools.map(({ name }) => call(name))] })
  }
  const session = await real.start({ model: 'anthropic/claude-sonnet-5-5', system: MARK })
  for (let n = 0; n < 3; n++) {
    const { reason } = await (await session.prompt(`Use these:\n${ALL}\n${FILLER}`)).result(PATIENCE)
    assert.equal(reason, 'completed')
  }
  await whenIdle(session)
  isRefusing = true
  await assert.rejects(session.compactNow(), (error) => errors.push(shown(error)) > 0)
  await whenIdle(session)
  isRefusing = false
  assert.ok((await session.compactNow()) !== null)
  isRefusing = true
  const refused = await (await session.prompt(ALL)).result(PATIENCE)
  assert.equal(refused.reason, 'error')
  errors.push(refused.error)
  await whenIdle(session)

  const temporal = await temporalOf(session)
  assert.deepEqual(
    found(temporal, [{ kind: 'mark', core: MARK }]),
    ['mark'],
    'the search finds what is there',
  )
  assert.deepEqual(found(temporal), [])
  assert.ok(logged.length > 0)
  assert.deepEqual(found(logged), [])
  const measured = [...metrics.retrieveUpdates()].map(shown)
  assert.ok(measured.length > 0)
  assert.deepEqual(found(measured), [])
  assert.deepEqual(found(errors), [])

  const log = await real.log(session)
  assert.equal(found(log).length, secrets.length, 'the store holds the conversation')
  wire.assertValid()
})
