import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'

// The demo of the three levels runs here; the demo of the killed worker is a step of its own in .ci/run.

const MAIN = resolve(import.meta.dirname, '../../demo/main.ts')
let temporary: string
before(() => {
  temporary = mkdtempSync(join(tmpdir(), 'dc-demo-test-'))
})
after(() => rmSync(temporary, { recursive: true, force: true }))

interface Demo {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function demo(...args: string[]): Promise<Demo> {
  const child = spawn(process.execPath, ['--import', 'tsx', MAIN, ...args], {
    env: { ...process.env, TMPDIR: temporary, NO_COLOR: undefined, FORCE_COLOR: undefined, CI: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (part: string) => {
      said[name] += part
    })
  return new Promise((done, reject) => {
    child.on('error', reject)
    child.on('close', (code) => done({ code, ...said }))
  })
}

describe('npm run demo -- --levels', () => {
  let levels: Demo
  before(
    async () => {
      levels = await demo('--levels')
    },
    { timeout: 120_000 },
  )

  /** Each round's line of what happened and of what the model sees. */
  const rounds = () =>
    [
      ...levels.stdout.matchAll(
        /^(Round \d+|Answer) \(request of ([\d,]+) tokens\)(?: {2}← (.*))?\n {3}(.*)$/gm,
      ),
    ].map(([, name = '', tokens = '', who = '', surface = '']) => ({
      name,
      tokens: Number(tokens.replaceAll(',', '')),
      who,
      surface: surface.split(/ (?!used)(?!\w+\])/),
    }))

  test('ends well, with ten rounds and the answer', () => {
    assert.equal(levels.code, 0, `${levels.stdout}\n${levels.stderr}`)
    assert.deepEqual(
      rounds().map(({ name }) => name),
      [...Array.from({ length: 10 }, (_, index) => `Round ${index + 1}`), 'Answer'],
    )
    assert.match(levels.stdout, /^ *\d+\.\d s {2}Starting Temporal and a worker …\n/)
    assert.match(levels.stdout, /✓ all three levels acted\n$/)
  })

  test('each level acted, in this order, and one can see what it did', () => {
    const acted = rounds().filter(({ who }) => who !== '')
    assert.deepEqual(
      acted.map(({ who }) => who),
      ['micro', 'automatic', 'compact tool'],
    )
    const [micro = [], automatic = [], tool = []] = acted.map(({ surface }) => surface)
    assert.ok(micro.includes('[Previous: used bash]'), micro.join(' '))
    assert.ok(
      micro.some((node) => node.startsWith('read_file:')),
      'what a file says stays',
    )
    assert.deepEqual(automatic.slice(0, 2), ['[checkpoint]', 'model'])
    assert.deepEqual(tool.slice(0, 2), ['[checkpoint]', 'model'])
    assert.match(tool[2] ?? '', /^compact:\d+$/)
  })

  test('after a checkpoint the next request is smaller, otherwise it grows', () => {
    const seen = rounds()
    for (const [index, { tokens, name }] of seen.entries()) {
      const before = seen[index - 1]
      if (before === undefined) continue
      const isRelieved = before.who === 'automatic' || before.who === 'compact tool'
      assert.equal(tokens < before.tokens, isRelieved, `${name}: ${before.tokens} → ${tokens}`)
    }
  })

  test('leaves nothing behind, and no colours in a pipe', () => {
    assert.equal(levels.stdout.includes('\u001b'), false)
    assert.deepEqual(
      readdirSync(temporary).filter((name) => name.startsWith('durable-compaction-demo-')),
      [],
    )
  })
})

test('wrong words and files that are no transcript: exit code 2 before anything is started', async () => {
  const prose = join(temporary, 'prose.txt')
  writeFileSync(prose, 'Dear diary')
  const wrong: readonly [string, RegExp][] = [
    ['--level', /Unknown option '--level'/],
    [join(temporary, 'none.jsonl'), /no such file/],
    [prose, /no known transcript/],
  ]
  for (const [word, why] of wrong) {
    const { code, stdout, stderr } = await demo(word)
    assert.deepEqual([code, stdout], [2, ''], stderr)
    assert.match(stderr, why)
    assert.match(stderr, /npm run demo -- FILE/)
  }
})
