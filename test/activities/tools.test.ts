import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { z } from 'zod'
import { editFileTool } from '../../examples/coding-agent/edit-file-tool.ts'
import { executeTool } from '../../src/activities/execute-tool.ts'
import { fileTools } from '../../src/activities/tools/file-tools.ts'
import { defineTool } from '../../src/shared/define-tool.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { isText } from '../../src/shared/session/content.ts'

let outside: string
let root: string
let tools: readonly Tool[]

before(async () => {
  outside = await mkdtemp(join(tmpdir(), 'dc-tools-'))
  root = join(outside, 'root')
  await mkdir(join(root, 'sub'), { recursive: true })
  await writeFile(join(outside, 'secret.txt'), 'secret')
  await writeFile(join(root, 'a.txt'), 'one\ntwo\nthree')
  await writeFile(join(root, 'sub', 'b.txt'), 'Two birds')
  await writeFile(join(root, 'binary'), Buffer.from([1, 0, 2]))
  await symlink(join(outside, 'secret.txt'), join(root, 'link'))
  await symlink(outside, join(root, 'up'))
  tools = fileTools(root)
})
after(() => rm(outside, { recursive: true, force: true }))

async function run(
  name: string,
  input: unknown,
  options: { signal?: AbortSignal; tools?: readonly Tool[] } = {},
) {
  const tool = (options.tools ?? tools).find((candidate) => candidate.name === name)
  assert.ok(tool, `no tool ${name}`)
  const signal = options.signal ?? new AbortController().signal
  const { content, isError } = await executeTool(
    tool,
    { type: 'tool_use', id: 'c1', name, input },
    { sessionId: 's', callId: 'c1', idempotencyKey: 'k1', signal },
  )
  return {
    text: content
      .filter(isText)
      .map((block) => block.text)
      .join(''),
    isError,
  }
}

describe('file tools', () => {
  test('read_file reads whole files and lines', async () => {
    assert.deepEqual(await run('read_file', { path: 'a.txt' }), { text: 'one\ntwo\nthree', isError: false })
    assert.deepEqual(await run('read_file', { path: 'a.txt', offset: 2, limit: 1 }), {
      text: 'two',
      isError: false,
    })
    assert.match(
      (await run('read_file', { path: 'a.txt', offset: 9 })).text,
      /3 lines, asked was from line 9/,
    )
    assert.match((await run('read_file', { path: 'binary' })).text, /binary file/)
  })

  for (const path of ['../secret.txt', 'link', 'up/secret.txt', '/etc/passwd', 'sub/../../secret.txt']) {
    test(`no tool leaves its root: ${path}`, async () => {
      const read = await run('read_file', { path })
      assert.equal(read.isError, true)
      assert.match(read.text, /outside/)
      const written = await run('write_file', {
        path: path === 'link' ? 'up/new' : `${path}.new`,
        content: 'x',
      })
      assert.equal(written.isError, true)
      assert.equal(await readFile(join(outside, 'secret.txt'), 'utf8'), 'secret')
    })
  }

  test('list_files and search_files see the same files', async () => {
    assert.deepEqual((await run('list_files', {})).text.split('\n'), ['a.txt', 'binary', 'sub/b.txt'])
    assert.deepEqual((await run('search_files', { text: 'TWO' })).text.split('\n'), [
      'a.txt:2: two',
      'sub/b.txt:1: Two birds',
    ])
  })

  test('write_file replaces atomically and creates folders', async () => {
    assert.equal((await run('write_file', { path: 'new/c.txt', content: 'c' })).isError, false)
    assert.equal(await readFile(join(root, 'new', 'c.txt'), 'utf8'), 'c')
  })

  test('write_file keeps the mode of a file that it replaces', async () => {
    for (const mode of [0o755, 0o600]) {
      const file = join(root, 'new', `mode-${mode}`)
      await mkdir(join(root, 'new'), { recursive: true })
      await writeFile(file, 'old')
      await chmod(file, mode)
      assert.equal((await run('write_file', { path: `new/mode-${mode}`, content: 'new' })).isError, false)
      assert.equal(await readFile(file, 'utf8'), 'new')
      assert.equal((await stat(file)).mode & 0o777, mode)
    }
  })

  test('edit_file of the coding agent keeps the mode and the byte order mark of a file, and refuses what is not UTF-8', async () => {
    const folder = await mkdtemp(join(outside, 'edit-'))
    const file = join(folder, 'a')
    const edit = () =>
      editFileTool(folder).run({ path: 'a', before: 'old', after: 'new' }, { callId: 'toolu_1' })
    await writeFile(file, '\ufeffold ä')
    await chmod(file, 0o755)
    await edit()
    assert.equal(await readFile(file, 'utf8'), '\ufeffnew ä')
    assert.equal((await stat(file)).mode & 0o777, 0o755)
    const latin1 = Buffer.from('old \xe4', 'latin1')
    await writeFile(file, latin1)
    await assert.rejects(edit(), /^Error: a is not text in UTF-8, and was not changed/)
    assert.deepEqual(await readFile(file), latin1)
  })

  test('run_command answers output and exit code; a failure is an error result', async () => {
    assert.deepEqual(await run('run_command', { command: 'echo hi' }), {
      text: 'hi\n[exit code 0]',
      isError: false,
    })
    assert.deepEqual(await run('run_command', { command: 'echo no >&2; exit 3' }), {
      text: 'no\n[exit code 3]',
      isError: true,
    })
  })

  test('run_command gets PATH, HOME, the locale and what commandEnv names, and no key, however it looks for one', async () => {
    const canary = 'canary-of-the-environment'
    const given = {
      LC_TIME: 'C.UTF-8',
      JAVA_HOME: '/java',
      DC_TEST_NAME: 'd',
      ANTHROPIC_API_KEY: canary,
      OPENAI_API_KEY: canary,
      AWS_SECRET_ACCESS_KEY: canary,
      DATABASE_URL: canary,
    }
    const before = { ...process.env }
    // As a worker that fetches its keys when it begins: /proc shows what a process was started with.
    Object.assign(process.env, given)
    const tools = fileTools(root, { commandEnv: ['JAVA_HOME'] })
    const looks = [
      'env',
      'printenv',
      'set',
      'export -p',
      'printenv ANTHROPIC_API_KEY',
      'echo "$AWS_SECRET_ACCESS_KEY"',
      'cat /proc/$PPID/environ',
    ]
    try {
      const seen = []
      for (const command of looks) seen.push((await run('run_command', { command }, { tools })).text)
      assert.ok(!seen.join('\n').includes(canary), seen.join('\n'))
      const names = [...(seen[0] ?? '').matchAll(/^(\w+)=/gm)].map(([, name]) => name)
      for (const name of ['PATH', 'HOME', 'LC_TIME', 'JAVA_HOME']) assert.ok(names.includes(name), seen[0])
      assert.ok(!names.includes('DC_TEST_NAME'), seen[0])
    } finally {
      for (const name of Object.keys(given))
        if (before[name] === undefined) delete process.env[name]
        else process.env[name] = before[name]
    }
  })

  test('commandEnv takes names of variables, but no key of a model', () => {
    const making = (name: string) => () => fileTools(root, { commandEnv: [name] })
    assert.throws(making('ANTHROPIC_API_KEY'), /may not have ANTHROPIC_API_KEY/)
    assert.throws(making('CI=1'), /names of environment variables, such as JAVA_HOME, got "CI=1"/)
  })

  test('run_command keeps at most 16 MiB of an endless output', async () => {
    const { text } = await run('run_command', { command: 'head -c 50000000 /dev/zero | tr "\\0" x' })
    assert.ok(text.length < 17 * 1024 * 1024, `${text.length}`)
    assert.match(text.slice(-80), /more bytes were not kept\]\n\[exit code 0\]/)
  })

  test('cancel stops a command with all that it started', async () => {
    const stop = new AbortController()
    const begun = Date.now()
    setTimeout(() => stop.abort(new Error('stopped')), 100)
    await assert.rejects(
      run('run_command', { command: 'sleep 30 & wait' }, { signal: stop.signal }),
      /stopped/,
    )
    assert.ok(Date.now() - begun < 15_000, 'it waited for the command')
  })
})

describe('executeTool', () => {
  // AbortSignal.timeout keeps no process alive; in a worker the heartbeat does.
  let alive: NodeJS.Timeout
  before(() => {
    alive = setInterval(() => undefined, 1000)
  })
  after(() => clearInterval(alive))
  const context = { sessionId: 's', callId: 'c', idempotencyKey: 'k', signal: new AbortController().signal }
  const tool = (run: Tool['run'], timeoutMs?: number): Tool => ({
    name: 't',
    description: '',
    input: z.object({ n: z.number() }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    run,
  })
  const call = (input: unknown) => ({ type: 'tool_use' as const, id: 'c', name: 't', input })

  test('an input that does not fit the schema is an error result and does not run', async () => {
    let ran = false
    const result = await executeTool(
      tool(async () => {
        ran = true
        return 'x'
      }),
      call({ n: 'one' }),
      context,
    )
    assert.equal(result.isError, true)
    assert.match(String(result.content[0]?.['text']), /not valid.*n/s)
    assert.equal(ran, false)
  })

  test('a tool that throws, and one that never answers, are error results', async () => {
    const thrown = await executeTool(
      tool(async () => Promise.reject(new Error('boom'))),
      call({ n: 1 }),
      context,
    )
    assert.deepEqual(thrown, {
      content: [{ type: 'text', text: 't failed: boom' }],
      isError: true,
      failed: true,
    })
    const late = await executeTool(
      tool(() => new Promise(() => undefined), 50),
      call({ n: 1 }),
      context,
    )
    assert.match(String(late.content[0]?.['text']), /within 50 ms/)
  })

  test('a block that no request can hold is its JSON', async () => {
    const link = { type: 'resource_link', uri: 'file:///a' }
    const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
    const { content, isError } = await executeTool(
      tool(async () => ({ content: [link, image] })),
      call({ n: 1 }),
      context,
    )
    assert.deepEqual(content, [{ type: 'text', text: JSON.stringify(link) }, image])
    assert.equal(isError, false)
  })

  test('an empty output is said, lone surrogates are mended', async () => {
    assert.deepEqual(
      (
        await executeTool(
          tool(async () => ''),
          call({ n: 1 }),
          context,
        )
      ).content,
      [{ type: 'text', text: '(no output)' }],
    )
    assert.deepEqual(
      (
        await executeTool(
          tool(async () => 'a\ud800b'),
          call({ n: 1 }),
          context,
        )
      ).content,
      [{ type: 'text', text: 'a\ufffdb' }],
    )
  })
})

test('a defined tool gets what its schema gives, typed, and nothing that the schema refuses', async () => {
  const plus = defineTool({
    name: 'plus',
    description: 'Adds one.',
    input: z.object({ to: z.string().transform(Number) }),
    run: async ({ to }) => `${to + 1}`,
  })
  const context = {
    sessionId: 's',
    callId: 'c',
    idempotencyKey: 'k',
    signal: new AbortController().signal,
  }
  const call = (input: object) =>
    executeTool(plus, { type: 'tool_use', id: 'c', name: 'plus', input: { ...input } }, context)
  assert.deepEqual(await call({ to: '41' }), { content: [{ type: 'text', text: '42' }], isError: false })
  assert.equal((await call({ to: 41 })).isError, true)
})
