import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Session, SessionClient } from '../../src/client/index.ts'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import { isText } from '../../src/shared/session/content.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { createSessionWorker, scriptedModel } from '../../src/worker/index.ts'
import { failsAs } from '../support/fails-as.ts'
import { Gate } from '../support/gate.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'

// A store that cannot be written, under real sessions: a typed error for who asks, nothing lost, nothing done or paid twice.

const FILE_BYTES = 400_000
/** More than the file may hold. */
const LARGE = 'words '.repeat(200_000)

let folder: string
let path: string
/** What sessions and worker use; tests put a handle with more room in its place. */
let current: SessionStore
const handles: SessionStore[] = []
const open = (file: string, fileBytes?: number) => {
  const store = sqliteStore({ path: file, ...(fileBytes === undefined ? {} : { limits: { fileBytes } }) })
  handles.push(store)
  return store
}
/** A file of its own for a test. A new one has less than 200 KB. */
function newFile(): void {
  path = join(folder, `${randomUUID().slice(0, 8)}.db`)
  current = open(path)
}
const switchable = new Proxy({} as SessionStore, {
  get: (_, name) => Reflect.get(current, name).bind(current),
})

let toolRuns = 0
let modelCalls = 0
/** Opens when what cannot be written has been made. */
let made = new Gate()
const model = scriptedModel(
  ({ messages }) => {
    const asked = messages.at(-1)?.content.filter(isText).at(-1)?.text
    if (asked === 'Use the tool.')
      return { content: [{ type: 'tool_use', id: 'c', name: 'large', input: {} }] }
    if (asked !== 'Talk.') return 'Done.'
    modelCalls++
    made.open()
    return LARGE
  },
  { capacity: { contextWindow: 2_000_000, maxOutputTokens: 400_000 } },
)

let real: RealSessions
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dc-store-'))
  newFile()
  const large = {
    name: 'large',
    description: 'Large.',
    input: { jsonSchema: { type: 'object' } },
    async run() {
      toolRuns++
      made.open()
      return LARGE
    },
  }
  real = await openRealSessions({ scripted: model }, [large], { store: switchable })
})
after(async () => {
  await real.close()
  await Promise.all(handles.map((store) => store.close()))
  rmSync(folder, { recursive: true, force: true })
})

async function goesOn(session: Session): Promise<void> {
  const turn = await session.prompt('Are you there?')
  assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
}

describe('disk full', () => {
  test('a prompt that finds no room is StoreUnavailable; those that were accepted are all there, and the session goes on', async () => {
    newFile()
    const session = await real.start()
    current = open(path, FILE_BYTES)
    let accepted = 0
    const fill = async () => {
      for (; ; accepted++)
        await session.prompt(`note ${accepted} ${'x'.repeat(20_000)}`, { delivery: 'no-wake' })
    }
    await failsAs('StoreUnavailable', fill(), /\.db has no room left/, /free disk space/)
    assert.ok(accepted > 3)
    current = open(path)
    await goesOn(session)
    const prompts = (await real.log(session)).filter((event) => event.type === 'user/message')
    assert.equal(prompts.length, accepted + 1)
  })

  test('a tool’s result waits for room: it ran once, and its result is the one that it gave', async () => {
    newFile()
    const session = await real.start()
    current = open(path, FILE_BYTES)
    made = new Gate()
    const turn = await session.prompt('Use the tool.')
    await madeAndRefused()
    current = open(path)
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
    assert.equal(toolRuns, 1)
    const [result] = (await real.log(session)).filter((event) => event.type === 'tool/result')
    assert.equal(result?.type === 'tool/result' && result.data.isError, false)
    await goesOn(session)
  })

  test('a reply waits for room: it is paid once', async () => {
    newFile()
    const session = await real.start()
    current = open(path, FILE_BYTES)
    made = new Gate()
    const turn = await session.prompt('Talk.')
    await madeAndRefused()
    current = open(path)
    const { reason, message } = await turn.result({ timeoutMs: 120_000 })
    assert.deepEqual([reason, message?.[0]?.['text'] === LARGE], ['completed', true])
    assert.equal(modelCalls, 1)
    await goesOn(session)
  })

  /** Long enough for a write that failed, and for the activity's own retry if it gave up. */
  async function madeAndRefused(): Promise<void> {
    await made.wait()
    await new Promise((resolve) => setTimeout(resolve, 3_000))
  }
})

describe('store file read-only', () => {
  test('a prompt is StoreUnavailable with what to do; the session goes on once it can be written', async () => {
    newFile()
    const session = await real.start()
    await goesOn(session)
    chmodSync(path, 0o444)
    chmodSync(folder, 0o755)
    const before = await real.log(session)
    await asNobody(async () => {
      const store = open(path)
      const sessions = new SessionClient({ client: real.client, store, taskQueue: real.taskQueue })
      const prompting = sessions.get(session.id).prompt('hello?')
      await failsAs('StoreUnavailable', prompting, /\.db is read-only/, /writable for this user/)
      assert.equal((await sessions.get(session.id).events()).length, before.length, 'it can be read')
    })
    chmodSync(path, 0o644)
    assert.deepEqual(await real.log(session), before)
    await goesOn(session)
  })

  test('a worker whose store cannot be opened: start says so, and the session opens by itself once it can', async () => {
    const place = join(folder, 'later')
    const store = open(join(place, 'sessions.db'))
    const taskQueue = `later-${randomUUID().slice(0, 8)}`
    const worker = await createSessionWorker({
      connection: real.connection,
      store,
      models: { scripted: model },
      taskQueue,
      workflows: { workflowBundle: real.bundle },
      worker: { shutdownGraceTime: 0, shutdownForceTime: '2s' },
    })
    const running = worker.run()
    const sessions = new SessionClient({ client: real.client, store, taskQueue })
    const id = `later-${randomUUID().slice(0, 8)}`
    await failsAs(
      'StoreUnavailable',
      sessions.start(id, { model: 'scripted/x' }),
      /could not be opened within 10 s/,
      /create its folder/,
    )
    mkdirSync(place)
    await goesOn(await sessions.start(id, { model: 'scripted/x' }))
    worker.shutdown()
    await running
  })
})

/** Permissions do not bind root. */
async function asNobody(run: () => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) return run()
  process.seteuid?.(65_534)
  try {
    await run()
  } finally {
    process.seteuid?.(0)
  }
}
