import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  commandHead,
  commandKey,
  commandLine,
  isCommit,
  scriptOf,
} from '../../src/shared/compaction/ledger/commands.ts'
import { filesWritten, simpleCommands } from '../../src/shared/compaction/ledger/shell.ts'

const texts = (script: string) => simpleCommands(script).map(({ text }) => text)

describe('what a script runs', () => {
  for (const [script, commands] of [
    // Quotes, escapes and what is nested.
    ['a\\ b c', ['a\\ b c']],
    [`echo 'a\\' b; c`, [`echo 'a\\' b`, 'c']],
    ['echo "a\\" b" c; d', ['echo "a\\" b" c', 'd']],
    ['echo `ls; pwd` x; y', ['echo `ls; pwd` x', 'y']],
    ['echo $(a (b; c) d) e; f', ['echo $(a (b; c) d) e', 'f']],
    ['echo "x\ny" z', ['echo "x\ny" z']],
    ['a#b c # d; e\nf', ['a#b c', 'f']],
    ['# only; this', []],
    ['a\r\nb\tc', ['a', 'b c']],
    [')a ) b', ['a b']],
    ['a;;b||c', ['a', 'b', 'c']],
    // Redirections.
    ['x &> f y', ['x y']],
    ['x 2> err all', ['x all']],
    ['x 2>&1 y2>&1 z', ['x y z']],
    ['a >| b c', ['a', 'b c']],
    ['cat <f g >>h', ['cat g']],
    ['make all >/dev/null', ['make all']],
    ['>f', []],
    // Here documents.
    ['cat <<-"END"\n\tx; y\n\tEND\nz', ['cat', 'z']],
    ["cat << 'A' <<B\n1\nA\n2\nB\nend", ['cat', 'end']],
    ['cat <<A\nx; y', ['cat']],
    // What stands in front of a program.
    ['{ make a; } ; ({ make b', ['make a', 'make b']],
    [
      'if ! make c; then sudo -E make d; elif make e; then nohup make f; fi',
      ['make c', 'make d', 'make e', 'make f', 'fi'],
    ],
    ['while true; do make s; done; until make t', ['true', 'make s', 'done', 'make t']],
    ['time -p make; exec make; command make; builtin make', ['make', 'make', 'make', 'make']],
    ['env -u A B=1 C+=2 make', ['make']],
    ['timeout -k 5 30 make h; gtimeout 5 make i', ['make h', 'make i']],
    ['nice -n 5 make j; nice make k', ['make j', 'nice make k']],
    ['xargs -n 1 make l', ['make l']],
    ['sudo -g grp -u usr make m', ['make m']],
    // Shells in shells, three deep.
    ['/bin/bash -c "make m"; /usr/bin/zsh -lc \'make n\'', ['make m', 'make n']],
    ['bash -x -c "make o; make p" arg', ['make o', 'make p']],
    ['pwsh -Command "make p"; powershell.exe -Command "make q"', ['make p', 'make q']],
    ['bash script.sh; bash -c; xbash -c "make r"', ['bash script.sh', 'bash -c', 'xbash -c "make r"']],
  ] as const)
    test(JSON.stringify(script), () => assert.deepEqual(texts(script), commands))

  test('words have no quotes', () => {
    assert.deepEqual(simpleCommands(`x "a b" 'c' d"e"f "it's" \`y\``)[0]?.words, [
      'x',
      'a b',
      'c',
      'def',
      "it's",
      '`y`',
    ])
  })

  test('a script of 20,000 characters is read to its end', () => {
    assert.deepEqual(texts(`${' '.repeat(19_995)}a; b`), ['a', 'b'])
    assert.deepEqual(texts(`${' '.repeat(19_997)}a; b`), ['a'])
  })
})

describe('what a script writes', () => {
  for (const [script, files] of [
    ['a > f; b 1> g; c 1>>h; d >i >> j', ['f', 'g', 'h', 'i', 'j']],
    ['a 2> f; b >&2; c > /dev/null; d > /dev/tty', []],
    ['a > "q"; b > \'src/r.ts\'', ['q', 'src/r.ts']],
    ['a > $X; b > -x; c > "q r"; d >', []],
    ['tee -a f; x | tee "g"; tee', ['f', 'g']],
    ['sed --in-place s/a/b/ f; sed -i.bak s g; sed -n h; perl -i k', ['f', 'g']],
    ['cat <<E > f\n> g\nE\n> h', ['f', 'h']],
  ] as const)
    test(JSON.stringify(script), () => assert.deepEqual(filesWritten(script), files))
})

describe('a command in short', () => {
  const [of, short] = [
    (script: string) => simpleCommands(script)[0] ?? { words: [], text: '' },
    'x'.repeat(40),
  ]

  for (const [script, head, line] of [
    ['./run.sh a b', './run.sh a', './run.sh a b'],
    ['~/bin/x', '~/bin/x', undefined],
    ['1x a b', undefined, undefined],
    ['"a b" c d', undefined, undefined],
    ['python3.11 -m venv .venv', 'python3.11 -m venv', 'python3.11 -m venv .venv'],
    ['perl -m x', 'perl -m x', 'perl -m x'],
    ['gcc -m x', 'gcc x', 'gcc -m x'],
    ['python -m', 'python', undefined],
    ['npm run', 'npm run', undefined],
    ['npm run a b', 'npm run a', 'npm run a b'],
    ['npm run ../x', 'npm run ../x', 'npm run ../x'],
    ['npm run $X', 'npm run', 'npm run $X'],
    ['cargo --quiet build', 'cargo build', 'cargo --quiet build'],
    ['cargo --quiet', 'cargo', undefined],
    ['go 1x', 'go', undefined],
    ['LS -a b', undefined, undefined],
    ['kubectl get:pods', 'kubectl get:pods', undefined],
    [`x ${short}`, `x ${short}`, undefined],
    [`x ${short}y`, 'x', undefined],
    ['p'.repeat(80), 'p'.repeat(80), undefined],
    ['p'.repeat(81), undefined, undefined],
    [`make a ${'b'.repeat(153)}`, 'make a', `make a ${'b'.repeat(153)}`],
    [`make a ${'b'.repeat(154)}`, 'make a', undefined],
  ] as const)
    test(script.slice(0, 40), () =>
      assert.deepEqual([commandHead(of(script)), commandLine(of(script))], [head, line]),
    )

  test('a commit, with options in front', () => {
    for (const script of [
      'git commit',
      'git -c a=b commit',
      'git -C x -c y commit',
      'git --no-pager commit -m x',
    ])
      assert.ok(isCommit(of(script)), script)
    for (const script of ['git', 'xgit commit', 'git -C commit', 'git log commit', 'hg commit'])
      assert.ok(!isCommit(of(script)), script)
  })

  test('the key of a call is its heads, else its first 60 characters', () => {
    const key = (script: string) => commandKey(script, simpleCommands(script))
    assert.equal(key('b x; a y; b x'), 'a y & b x')
    assert.equal(key(`  ls ${'z'.repeat(80)}`), `ls ${'z'.repeat(57)}`)
  })
})

describe('the script of a tool input', () => {
  for (const [input, script] of [
    [{ script: 'a' }, 'a'],
    [{ shell_command: 'x' }, 'x'],
    [{ commands: ['a', 'b'] }, 'a b'],
    [{ command: 7, cmd: 'y' }, 'y'],
    [{ command: ['zsh', '-c', 's'] }, 's'],
    [{ command: ['/bin/bash', '-lc', 's'] }, 's'],
    [{ command: ['zsh', '-x', 's'] }, 'zsh -x s'],
    [{ command: ['zsh', '-lc', 's', 't'] }, 'zsh -lc s t'],
    [{ command: ['x', '-c', 's'] }, 'x -c s'],
    [{ command: ['bash', 'c', 's'] }, 'bash c s'],
    [{ command: ['bash', '-cx', 's'] }, 'bash -cx s'],
    [{ command: ['shx', '-c', 's'] }, 'shx -c s'],
    [{ command: [] }, undefined],
    [{ command: ['a', 7] }, undefined],
    ['s', undefined],
    [undefined, undefined],
    [null, undefined],
  ] as const)
    test(JSON.stringify(input) ?? 'nothing', () => assert.equal(scriptOf(input), script))
})
