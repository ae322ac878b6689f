import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { drawEvent, drawProgress } from '../../src/cli/draw-event.ts'
import { exitCodeOf, failureOf, Interrupted, UsageError } from '../../src/cli/exit-codes.ts'
import { claimHome, type DevState, readDevState, releaseHome, writeDevState } from '../../src/cli/home.ts'
import { names, repeated, span, textUpTo, wholeNumber } from '../../src/cli/option-values.ts'
import { placesOf } from '../../src/cli/places.ts'
import { readLog } from '../../src/cli/read-log.ts'
import { displayWidth, formatTable } from '../../src/cli/table.ts'
import { logLine } from '../../src/cli/worker-log.ts'
import { ERROR_NAMES, ManualCompactionError, SessionError } from '../../src/shared/errors.ts'
import type { EventsQuery } from '../../src/shared/ports/store.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'

// What people read, and what stands behind the options: no server, no store.

describe('tables', () => {
  const widths: readonly [string, number][] = [
    ['', 0],
    ['abc', 3],
    ['日本語', 6],
    ['ひらがな', 8],
    ['ｱｲｳ', 3],
    ['Ａ１', 4],
    ['한국어', 6],
    ['、。', 4],
    ['→ é', 3],
    ['e\u0301', 1],
    ['👍', 2],
    ['👩‍👩‍👧', 2],
    ['🇯🇵', 2],
    ['✔\ufe0f', 2],
    ['\u001b[31mred\u001b[39m', 3],
  ]
  for (const [text, width] of widths)
    test(`${JSON.stringify(text)} takes ${width} columns`, () => assert.equal(displayWidth(text), width))

  test('wide text does not move the columns behind it', () => {
    const lines = formatTable(
      ['name', 'tokens', 'what'],
      [
        ['日本語', '1,200', 'one'],
        ['plain', 7, 'two'],
        ['👍 ok', '', 'three'],
      ],
    ).split('\n')
    const places = ['what', undefined, 'one', 'two', 'three'].map((word, index) =>
      word === undefined ? undefined : displayWidth((lines[index] ?? '').split(word)[0] ?? ''),
    )
    assert.deepEqual([...new Set(places.filter((place) => place !== undefined))], [6 + 2 + 6 + 2])
  })

  test('numbers stand to the right, also with commas, units and signs; words to the left', () => {
    const table = formatTable(
      ['count', 'share', 'time', 'cost', 'word'],
      [
        ['1,200', '92 %', '1.2 s', '$0.0059', 'a'],
        [7, '5 %', '20 ms', '$12.30', 'bbb'],
      ],
    )
    assert.equal(
      table,
      [
        'count  share   time     cost  word',
        '-----  -----  -----  -------  ----',
        '1,200   92 %  1.2 s  $0.0059  a',
        '    7    5 %  20 ms   $12.30  bbb',
      ].join('\n'),
    )
  })
})

describe('events', () => {
  const common = { seq: 7, key: 'k', turn: 1, step: 1, time: 0, tokens: 0 }
  const result = (text: string, isError = false): SessionEvent => ({
    ...common,
    type: 'tool/result',
    data: { callId: 'c', name: 'bash', content: [{ type: 'text', text }], isError },
    surfaceOp: 'append',
  })
  const drawn = (event: SessionEvent) => stripVTControlCharacters(drawEvent(event))

  test('what a tool returned cannot steer the terminal', () => {
    assert.equal(
      drawEvent(result('a\u001b]0;title\u0007b\u001b[2Jc\r\nd\te\u009b'))
        .split('bash')
        .at(-1)
        ?.replace('\u001b[39m', ''),
      ' a\ufffd]0;title\ufffdb\ufffd[2Jc\nd\te\ufffd',
    )
  })

  test('long text is cut between characters, and says how much is missing', () => {
    assert.match(drawn(result(`${'x'.repeat(1_999)}😀${'y'.repeat(2_000)}`)), /x \[2,002 more characters\]$/)
  })

  test('who speaks is said by the source', () => {
    const user = (source: 'prompt' | 'notice' | 'context' | 'durable-compaction/checkpoint') =>
      drawn({
        ...common,
        type: 'user/message',
        data: { content: [{ type: 'text', text: 'hi' }], source },
        surfaceOp: 'append',
      })
    assert.deepEqual(
      [user('prompt'), user('notice'), user('context'), user('durable-compaction/checkpoint')],
      ['#7 user hi', '#7 notice hi', '#7 context hi', '#7 checkpoint hi'],
    )
  })

  test('progress is the calls of a reply in one short line each, and nothing about results', () => {
    const reply: SessionEvent = {
      ...common,
      type: 'assistant/message',
      data: {
        content: [
          { type: 'tool_use', id: 'a', name: 'read_file', input: { path: 'x.ts\u009b' } },
          { type: 'tool_use', id: 'b', name: 'bash', input: { command: 'y'.repeat(500) } },
        ],
        usage: null,
        stopReason: 'tool_use',
        provider: 'p',
        model: 'm',
      },
      surfaceOp: 'append',
    }
    const lines = stripVTControlCharacters(drawProgress(reply) ?? '').split('\n')
    assert.equal(lines[0], '→ read_file {"path":"x.ts\ufffd"}')
    assert.equal(lines[1]?.length, 102)
    assert.equal(drawProgress(result('x')), undefined)
  })

  test('a log is read in pages, each event once', async () => {
    for (const length of [0, 1, 999, 1_000, 1_001, 2_500]) {
      const all = Array.from({ length }, (_, seq) => ({ ...result('x'), seq }))
      const store = {
        events: async (_: string, { after = -1, limit = 1_000 }: EventsQuery = {}) =>
          all.slice(after + 1, after + 1 + limit),
      }
      const read = await readLog(store, 's')
      assert.deepEqual(
        read.map(({ seq }) => seq),
        all.map(({ seq }) => seq),
      )
    }
  })

  test('a warning of the worker is one line', () => {
    const line = logLine({
      level: 'WARN',
      timestampNanos: 3_600_000_000_000n,
      message: 'Activity failed',
      meta: { activityType: 'sessionOpen', workflowId: 's1', error: new Error('no such model') },
    })
    assert.equal(
      stripVTControlCharacters(line),
      '01:00:00 WARN Activity failed: sessionOpen of s1: no such model',
    )
  })
})

describe('options', () => {
  test('whole numbers: only digits, within the limits', () => {
    assert.equal(wholeNumber(1, 10)('10'), 10)
    assert.equal(wholeNumber(-1)('-1'), -1)
    for (const text of ['', 'abc', '1.5', '1e3', '0x10', ' 1', '0', '11', '--1', '9'.repeat(20)])
      assert.throws(() => wholeNumber(1, 10)(text), /It must be a whole number from 1 to 10\./, text)
    assert.throws(() => wholeNumber(0)('x'), /a whole number of 0 or more/)
  })

  test('spans, names, repeated options, texts', () => {
    assert.deepEqual(span('12:40'), { start: 12, end: 40 })
    for (const text of ['12', '12:', 'a:b', '1:2:3', '-1:2']) assert.throws(() => span(text), /12:40/)
    assert.deepEqual(names(' a, b,,c '), ['a', 'b', 'c'])
    assert.deepEqual(repeated('b', repeated('a', undefined)), ['a', 'b'])
    assert.equal(textUpTo(3)('abc'), 'abc')
    assert.throws(() => textUpTo(3)('abcd'), /3 characters, it has 4/)
  })
})

describe('exit codes', () => {
  test('every error of the library has one', () => {
    const codes = Object.fromEntries(
      ERROR_NAMES.map((name) => [name, exitCodeOf(new SessionError(name, 'why'))] as const).filter(
        ([, code]) => code !== 1,
      ),
    )
    assert.deepEqual(codes, {
      InvalidInput: 2,
      InvalidPolicy: 2,
      InvalidSpan: 2,
      UnknownModel: 2,
      UnknownTool: 2,
      SessionNotFound: 3,
      WorkerUnavailable: 4,
      StoreUnavailable: 4,
    })
  })

  test('errors of others: usage 2, Ctrl-C 130, a server that went away 4, the rest 1', () => {
    const gone = Object.assign(
      new Error('call failed', { cause: Object.assign(new Error(), { code: 14 }) }),
      {
        name: 'ServiceError',
      },
    )
    const refused = Object.assign(new Error('denied', { cause: Object.assign(new Error(), { code: 7 }) }), {
      name: 'ServiceError',
    })
    assert.deepEqual(
      [new UsageError('x'), new Interrupted('x'), gone, refused, new Error('x'), 'text'].map(exitCodeOf),
      [2, 130, 4, 1, 1, 1],
    )
    assert.match(failureOf(gone).message, /^Temporal does not answer: call failed/)
    assert.deepEqual(failureOf(new ManualCompactionError('busy', 'it is busy')), {
      name: 'busy',
      message: 'it is busy',
    })
  })
})

describe('the home folder', () => {
  let home: string
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'dc-home-'))
  })
  afterEach(() => rmSync(home, { recursive: true, force: true }))

  const dev = (change: Partial<DevState> = {}): DevState => ({
    address: '127.0.0.1:7000',
    namespace: 'ours',
    storePath: '/data/dev.db',
    taskQueue: 'dev-queue',
    uiUrl: null,
    pid: process.pid,
    ...change,
  })
  const env = () => ({ DURABLE_COMPACTION_HOME: home })
  const deadPid = () => spawnSync(process.execPath, ['--version']).pid

  test('a running dev is found; the environment and options come before it', () => {
    assert.deepEqual(placesOf({}, env()), {
      address: 'localhost:7233',
      addressIsNamed: false,
      namespace: 'default',
      storePath: join(home, 'sessions.db'),
      taskQueue: 'durable-compaction',
    })
    writeDevState(home, dev())
    assert.deepEqual(placesOf({}, env()), {
      address: '127.0.0.1:7000',
      addressIsNamed: true,
      namespace: 'ours',
      storePath: '/data/dev.db',
      taskQueue: 'dev-queue',
    })
    const named = placesOf(
      { store: 'a.db', taskQueue: 'q' },
      { ...env(), DURABLE_COMPACTION_STORE: 'b.db', TEMPORAL_NAMESPACE: 'n' },
    )
    assert.deepEqual([named.storePath, named.taskQueue, named.namespace], ['a.db', 'q', 'n'])
  })

  test('the notes of a dev do not mix with another server', () => {
    writeDevState(home, dev())
    for (const other of [
      placesOf({ address: 'prod:7233' }, env()),
      placesOf({}, { ...env(), TEMPORAL_ADDRESS: 'prod:7233' }),
    ]) {
      assert.equal(other.address, 'prod:7233')
      assert.deepEqual([other.namespace, other.storePath], ['default', join(home, 'sessions.db')])
    }
  })

  test('a note that is damaged, foreign, or of a dev that has ended is none', () => {
    for (const note of ['{"address": ', '[]', '{"pid": 1}', JSON.stringify(dev({ pid: deadPid() }))]) {
      writeFileSync(join(home, 'dev.json'), note)
      assert.equal(readDevState(home), null, note)
      assert.equal(placesOf({}, env()).addressIsNamed, false)
    }
  })

  test('one dev a home: a second one is refused and changes nothing, what a dead one left is taken over', () => {
    claimHome(home)
    assert.equal(readDevState(home), null, 'who has only claimed is not ready')
    assert.throws(() => claimHome(home), /A dev runs already \(process \d+, still starting\)/)
    writeDevState(home, dev())
    const before = readFileSync(join(home, 'dev.json'), 'utf8')
    assert.throws(() => claimHome(home), {
      name: 'Busy',
      message: /Temporal at 127\.0\.0\.1:7000.*DURABLE_COMPACTION_HOME/,
    })
    assert.equal(readFileSync(join(home, 'dev.json'), 'utf8'), before)
    writeDevState(home, dev({ pid: deadPid() }))
    claimHome(home)
    releaseHome(home)
    assert.equal(existsSync(join(home, 'dev.json')), false)
  })
})
