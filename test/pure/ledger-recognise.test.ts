import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { found, ofKind } from './ledger-fixtures.ts'

describe('ledger: links', () => {
  it('ends a link at brackets, quotes and trailing punctuation', () => {
    assert.deepEqual(
      ofKind('link', 'See (https://a.example/b?c=1#d), "http://e.example/f." and https://g.example!'),
      ['https://a.example/b?c=1#d', 'http://e.example/f', 'https://g.example'],
    )
  })
  it('leaves out links of 200 characters, and finds nothing else in them', () => {
    assert.deepEqual(found(`https://a.example/${'path_to/file.ts/'.repeat(14)}`), [])
  })
})

describe('ledger: paths', () => {
  const paths: [string, string[]][] = [
    ['edit src/upload/uploader.ts:12 now', ['src/upload/uploader.ts']],
    ['(./lib/a.rb), `../b/c.py`.', ['lib/a.rb', '../b/c.py']],
    ['~/.config/tool.toml and /etc/hosts.conf', ['~/.config/tool.toml', '/etc/hosts.conf']],
    ['app/[slug]/page.tsx and [src/a.ts](src/b.ts)', ['app/[slug]/page.tsx', 'src/a.ts', 'src/b.ts']],
    ['node_modules/@scope/pkg/index.js', ['node_modules/@scope/pkg/index.js']],
    ['docker/Dockerfile config/.env', ['docker/Dockerfile', 'config/.env']],
    ['C:\\Users\\dev\\new\\test.ts and D:/x/y.cs', ['C:/Users/dev/new/test.ts', 'D:/x/y.cs']],
    ['"C:\\\\Users\\\\dev\\\\app.ts\\n"', ['C:/Users/dev/app.ts']],
    [`$\{HOME}/a/b.ts $DIR/c/d.ts`, []],
    ['see src/a.ts.', ['src/a.ts']],
    [`x/${'y'.repeat(260)}.ts`, []],
  ]
  for (const [text, expected] of paths) {
    it(`finds ${expected.join(', ') || 'none'} in ${text.slice(0, 60)}`, () => {
      assert.deepEqual(ofKind('path', text), expected)
    })
  }
  it('writes paths below the working directory relative to it', () => {
    assert.deepEqual(ofKind('path', '/repo/src/a.ts /repository/b.ts /repo/', '/repo/'), [
      'src/a.ts',
      '/repository/b.ts',
    ])
    assert.deepEqual(ofKind('path', 'c:\\Code\\src\\a.ts', 'C:/code/'), ['src/a.ts'])
  })
})

describe('ledger: non-ASCII file names', () => {
  const names: [string, string[]][] = [
    ['Öffne Änderungen/Übersicht.md und café/menü.ts', ['Änderungen/Übersicht.md', 'café/menü.ts']],
    ['файл отчёты/сводка.csv', ['отчёты/сводка.csv']],
    ['read 文档/设计.md first', ['文档/设计.md']],
    ['请修改src/组件/按钮.tsx文件', ['src/组件/按钮.tsx']],
    ['src/foo.tsをsrc/bar.tsに移動', ['src/foo.ts', 'src/bar.ts']],
    ['docs/設計、docs/仕様.md。', ['docs/仕様.md']],
    ['│  ├──src/app.ts', ['src/app.ts']],
    ['🚀src/app.ts', ['src/app.ts']],
  ]
  for (const [text, expected] of names) {
    it(`finds ${expected.join(', ')} in ${text}`, () => assert.deepEqual(ofKind('path', text), expected))
  }
  it('keeps a name that begins in another script when it was seen as it stands', () => {
    assert.deepEqual(found('第1章/概要.md', '', true), ['path 1章/概要.md'])
    assert.deepEqual(found('第1章/概要.md', '', true, ['第1章/概要.md']), ['path 第1章/概要.md'])
    assert.deepEqual(found('第1章/概要.md', '', false), ['path 第1章/概要.md'])
  })
  it('finds bare file names in other scripts', () => {
    assert.deepEqual(ofKind('file', '打开 说明.md 和 übung.py'), ['说明.md', 'übung.py'])
  })
})

describe('ledger: directories and bare files', () => {
  it('takes what looks like a folder and nothing that is prose', () => {
    const text =
      'src/shared/ test-data/x /var/log @scope/pkg ~/work and/or n/a map/2 Read/Write 12/05/2024 </div> /c //'
    assert.deepEqual(ofKind('directory', text), [
      'src/shared',
      'test-data/x',
      '/var/log',
      '@scope/pkg',
      '~/work',
    ])
  })
  it('takes bare files by their ending and no method calls', () => {
    assert.deepEqual(
      ofKind('file', 'main.py, mix.exs console.log Math.log foo.bar Makefile .gitignore a.tsx.'),
      ['main.py', 'mix.exs', 'a.tsx', 'Makefile', '.gitignore'],
    )
  })
})

describe('ledger: error codes', () => {
  it('takes exceptions, system errors, codes, signals and exit codes', () => {
    const text = 'TypeError ENOENT TS2339 CVE-2024-12345 RFC 9110 SIGKILL HTTP 404 exit code 2, E0308'
    assert.deepEqual(ofKind('error', text), [
      'TypeError',
      'ENOENT',
      'TS2339',
      'CVE-2024-12345',
      'RFC 9110',
      'SIGKILL',
      'HTTP 404',
      'exit code 2',
      'E0308',
    ])
  })
  it('takes no word in capitals, and no exit code 0', () => {
    assert.deepEqual(ofKind('error', 'EXAMPLE EVERY ERROR ENDPOINT exit code 0'), [])
  })
})

describe('ledger: names', () => {
  const names: [string, string[]][] = [
    [
      'sendChunk UploadError2Kind max_attempts RETRY_LIMIT _private_name $storeValue',
      ['sendChunk', 'UploadError2Kind', 'max_attempts', 'RETRY_LIMIT', '_private_name', 'storeValue'],
    ],
    ['Spotter.Transcripts.Session', ['Spotter.Transcripts.Session']],
    [
      'in-the-middle and use `retry-policy` or .btn-primary, not well-known',
      ['in-the-middle', 'retry-policy', 'btn-primary'],
    ],
    ['--append-system-prompt', ['append-system-prompt']],
    [
      'db-replica-07.internal:5432 (web-01.eu-west-1.prod.example.com) my-svc.default.svc.cluster.local.',
      ['db-replica-07.internal', 'web-01.eu-west-1.prod.example.com', 'my-svc.default.svc.cluster.local'],
    ],
    [
      'redis-7.2.4, postgres-client-14.2.7; numpy-1.26.4',
      ['redis-7.2.4', 'postgres-client-14.2.7', 'numpy-1.26.4'],
    ],
    ['from my_pkg.core.utils import x; import os.path', ['my_pkg.core.utils', 'os.path']],
    ['user@mail-01.example.com a-b-c.d x-.internal object.member.call a-1.Next', []],
    ['claude-3.5-sonnet-latest', ['claude-3.5-sonnet-latest']],
    ['Hello world ERROR short a_b __init__', []],
    [`x_${'y'.repeat(60)}`, []],
  ]
  for (const [text, expected] of names) {
    it(`finds ${expected.join(', ') || 'none'} in ${text.slice(0, 60)}`, () => {
      assert.deepEqual(ofKind('name', text).sort(), expected.toSorted())
    })
  }
})

describe('ledger: ids and values', () => {
  it('takes uuids, hashes, issue numbers, tickets and short ids', () => {
    const text =
      '3cfce0ff-0725-47be-a572-f8af8122b71e efcc7f8 #482 JIRA-17 up-7f3 spotter-4te.1 UTF-8 deadbeef 1234567'
    assert.deepEqual(ofKind('id', text).sort(), [
      '#482',
      '3cfce0ff-0725-47be-a572-f8af8122b71e',
      'JIRA-17',
      'efcc7f8',
      'spotter-4te.1',
      'up-7f3',
    ])
  })
  it('prints a value with the word in front of it', () => {
    const text = 'port: 8443, chunkSize = 262144; v23.4.0 localhost:4000 on 2026-01-17 size 512 KB port 80'
    assert.deepEqual(ofKind('value', text), [
      'port 8443',
      'chunkSize 262144',
      'v23.4.0',
      'localhost:4000',
      '2026-01-17',
      'size 512 KB',
      'port 80',
    ])
  })
  it('takes no round number, year, or line number of a listing', () => {
    assert.deepEqual(ofKind('value', '5000 2024\n  1234→code\n1567:code\nsrc.ts:1234: x'), [])
  })
})

describe('ledger: order and clean-up', () => {
  it('finds in a link or a path nothing else', () => {
    assert.deepEqual(found('https://host.example/src/some_file.ts src/my_module/some_file.ts'), [
      'link https://host.example/src/some_file.ts',
      'path src/my_module/some_file.ts',
    ])
  })
  it('drops colours and window titles', () => {
    assert.deepEqual(found('\u001b[32msrc/a.ts\u001b[0m\u001b]0;title\u0007 src/\u001b[1mb.ts'), [
      'path src/a.ts',
      'path src/b.ts',
    ])
  })
  it('takes nothing out of keys, tokens and other encoded data', () => {
    const key = 'lQdGBGlXBg0BEADcrHUzBUjHOYK/scVAFNXxpfVb9c4Q6cR+dcSgpeEHxU0AElBA'
    assert.deepEqual(found(`-----BEGIN\n${key}\n${key.slice(7)}\ntoken=${key.replaceAll(/[/+]/g, '_')}`), [])
    const names = 'aVeryLongCamelCaseIdentifierName Archives/7c55c8a2-5df4-4bdf-bf23-104315eb04c2.jsonl'
    assert.equal(found(names).length, 2)
  })
  it('reads registry keys and paths from here as Windows writes them', () => {
    assert.deepEqual(found('HKLM:\\SYSTEM\\Control\\Lsa and .\\rebase-msys2.ps1'), [
      'directory HKLM:/SYSTEM/Control/Lsa',
      'path rebase-msys2.ps1',
    ])
  })
  it('reads a written line end as a blank', () => {
    assert.deepEqual(found('src/a.ts\\nsrc/b.ts\\"'), ['path src/a.ts', 'path src/b.ts'])
  })
})
