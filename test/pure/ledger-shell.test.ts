import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  commandHead,
  commandKey,
  commandLine,
  isCommit,
  scriptOf,
} from '../../src/shared/compaction/ledger/commands.ts'
import { filesWritten, simpleCommands } from '../../src/shared/compaction/ledger/shell.ts'

const texts = (script: string) => simpleCommands(script).map(({ text }) => text)
const heads = (script: string) =>
  simpleCommands(script)
    .map(commandHead)
    .filter((head) => head !== undefined)
const lines = (script: string) =>
  simpleCommands(script)
    .map(commandLine)
    .filter((line) => line !== undefined)

describe('ledger: simple commands', () => {
  const scripts: [string, string[]][] = [
    [
      'pnpm lint && pnpm test; gh pr list | head -3 || exit',
      ['pnpm lint', 'pnpm test', 'gh pr list', 'head -3', 'exit'],
    ],
    [`echo "a && b; c" 'd | e'`, [`echo "a && b; c" 'd | e'`]],
    ['make build > out.log 2>&1 && make 2>/dev/null < in.txt &>all', ['make build', 'make']],
    ['CI=1 A="x y" npm test', ['npm test']],
    ['sudo -u web timeout -k 5 30 npm run e2e', ['npm run e2e']],
    ['if [ -f a ]; then mix test; fi', ['[ -f a ]', 'mix test', 'fi']],
    ['(cd app && mix deps.get)', ['cd app', 'mix deps.get']],
    [`bash -lc "pnpm test && pnpm lint"`, ['pnpm test', 'pnpm lint']],
    [`sh -c 'bash -c "gh pr view 3"'`, ['gh pr view 3']],
    ['cat > a.py <<EOF\nrm -rf x && y\nEOF\npython a.py', ['cat', 'python a.py']],
    ['git commit -m "$(cat <<\'EOF\'\nfix; a && b\nEOF\n)"', ['git commit -m "$(cat \n)"']],
    ['npm run a \\\n  --flag # a comment; here\nnpm run b', ['npm run a --flag', 'npm run b']],
    ['echo $(ls | wc -l) done', ['echo $(ls | wc -l) done']],
    ['sleep 1 & wait', ['sleep 1', 'wait']],
    ['', []],
  ]
  for (const [script, expected] of scripts) {
    it(JSON.stringify(script), () => assert.deepEqual(texts(script), expected))
  }
  it('reads the first 20,000 characters', () => {
    assert.equal(texts(`make one\n${'x'.repeat(20_000)}\nmake two`).includes('make two'), false)
  })
})

describe('ledger: heads and lines', () => {
  it('keeps program and subcommand, of run and -m one word more', () => {
    assert.deepEqual(
      heads(
        'gh pr view 3; npm run build; python -m pytest -q; pnpm -r test; node scripts/x.mjs; pytest tests/a.py; docker compose up',
      ),
      ['gh pr', 'npm run build', 'python -m pytest', 'pnpm test', 'node', 'pytest', 'docker compose'],
    )
  })
  it('drops programs that any agent knows, whatever their case', () => {
    assert.deepEqual(heads('ls -la; git status; rg foo | sed s/a/b/; Get-ChildItem; [ -f x ]; $EDITOR a'), [])
  })
  it('keeps whole lines of more than two words and at most 160 characters', () => {
    assert.deepEqual(
      lines(`mix test; mix test test/a.exs --trace; git log --oneline; make ${'x '.repeat(90)}`),
      ['mix test test/a.exs --trace'],
    )
  })
  it('keeps no line with a line break in it', () => {
    assert.deepEqual(lines('gh pr create --body "a\nb"'), [])
  })
  it('gives calls of the same commands one key, in any order', () => {
    const key = (script: string) => commandKey(script, simpleCommands(script))
    assert.equal(key('cd x && mix test a.exs | tail'), key('mix test b.exs'))
    assert.equal(key('mix test; gh pr view'), key('gh pr list; mix test'))
    assert.equal(key(`git push ${'x'.repeat(80)}`), `git push ${'x'.repeat(51)}`)
  })
})

describe('ledger: scripts of a tool input', () => {
  it('reads a string, an argument vector, and a vector around a shell', () => {
    assert.equal(scriptOf({ command: 'mix test' }), 'mix test')
    assert.equal(scriptOf({ command: ['bash', '-lc', 'mix test'] }), 'mix test')
    assert.equal(scriptOf({ cmd: ['mix', 'test'] }), 'mix test')
    assert.equal(scriptOf({ path: 'a' }), undefined)
    assert.equal(scriptOf(null), undefined)
  })
  it('finds the files that a script writes', () => {
    assert.deepEqual(
      filesWritten('cat > src/a.py <<EOF\n> x.py\nEOF\necho b >>b.txt; x 2>err >/dev/null >&2'),
      ['src/a.py', 'b.txt'],
    )
    assert.deepEqual(filesWritten("sed -i 's/a/b/' src/c.py && sed -n 1p d.py; y | tee e.log"), [
      'src/c.py',
      'e.log',
    ])
    assert.deepEqual(filesWritten('echo x > $OUT'), [])
  })
  it('knows a commit', () => {
    const commits = (script: string) => simpleCommands(script).some(isCommit)
    assert.equal(commits('git add . && git commit -m x'), true)
    assert.equal(commits('git -C app commit -q'), true)
    assert.equal(commits('git log --grep commit; echo git commit'), false)
  })
})
