import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { isText } from '../../src/shared/session/content.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { ofType } from '../support/of-type.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'
import { runCli } from '../support/run-cli.ts'

// The archive on the real path: a worker writes it, a checkpoint names it, the command line prints it from the store alone.

const STEPS = 5
const words: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => 'word '.repeat(1_000),
}
const model = scriptedModel(
  ({ index }) =>
    index < STEPS ? { content: [{ type: 'tool_use', id: `c${index}`, name: 'words', input: {} }] } : 'Done.',
  {
    capacity: { contextWindow: 64_000, maxOutputTokens: 4_000 },
    summaries: 'Words were read. Next: go on.',
  },
)

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [words])
})
after(() => real.close())

const PRESSING = { thresholdTokens: 3_500, retainTokens: 1_200, micro: false, prune: false }

async function run(archive: string) {
  const session = await real.start({ policy: { ...PRESSING, archive } })
  const turn = await session.prompt('Read the words.')
  assert.equal((await turn.result({ timeoutMs: 90_000 })).reason, 'completed')
  return { session, events: await real.log(session) }
}

describe('the archive of a session', () => {
  test('each checkpoint names a file that export prints from the store alone, also when it is gone', async () => {
    const { session, events } = await run(join(real.folder, 'archive'))
    const starts = ofType(events, 'compact/start')
    assert.ok(starts.length >= 1)
    for (const { data } of starts) {
      const checkpoint = ofType(events, 'user/message').find(
        ({ key }) => key === `compact.${data.compactionId}.checkpoint`,
      )
      const page =
        checkpoint?.data.content
          .filter(isText)
          .map(({ text }) => text)
          .join('') ?? ''
      const path = JSON.parse(/All of it: ("[^"]+")/.exec(page)?.[1] ?? '""')
      const archived = readFileSync(path, 'utf8')
      assert.match(archived, /^\{"seq":\d+,/)
      rmSync(path)
      const store = join(real.folder, 'sessions.db')
      const { code, stdout } = await runCli([
        'export',
        session.id,
        '--compaction',
        data.compactionId,
        '--store',
        store,
      ])
      assert.equal(code, 0)
      assert.equal(stdout, archived)
    }
    const unknown = await runCli([
      'export',
      session.id,
      '--compaction',
      'x',
      '--store',
      join(real.folder, 'sessions.db'),
    ])
    assert.equal(unknown.code, 3)
    assert.match(unknown.stderr, /has no compaction "x" that began/)
  })

  test('B16 a folder that cannot be written: the attempt fails as archive, nothing is paid, and every step goes on', async () => {
    const file = join(real.folder, 'no-folder')
    writeFileSync(file, '')
    const { session, events } = await run(file)
    const errors = ofType(events, 'compact/end').map(({ data }) => data.error?.code)
    assert.ok(errors.length >= 1 && errors.every((code) => code === 'archive'))
    assert.equal(ofType(events, 'compact/call').length, 0)
    assert.equal(ofType(events, 'assistant/message').length, STEPS + 1)
    const { lastFailure } = await whenIdle(session)
    assert.equal(lastFailure?.errorCode, 'archive')
    assert.match(lastFailure?.errorMessage ?? '', /could not be written/)
    const shown = await runCli(['history', session.id, '--store', join(real.folder, 'sessions.db')])
    assert.match(shown.stdout, /failed \(archive\): The archive /)
  })
})
