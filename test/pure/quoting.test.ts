import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fenced, underHeading } from '../../src/shared/compaction/quoting.ts'

test('a fence is longer than any run of backticks in what it holds, which stays as it is', () => {
  assert.equal(fenced('a'), '```\na\n```')
  assert.equal(fenced('a ` b `` c'), '```\na ` b `` c\n```')
  assert.equal(fenced('x\n```\ny'), '````\nx\n```\ny\n````')
  assert.equal(fenced('`````'), '``````\n`````\n``````')
})

test('a line that looks like a part of a checkpoint loses that look, any other stays', () => {
  for (const line of [
    '# a',
    '###### a',
    '##',
    ' \t## a',
    '```ts',
    '> said',
    '[Checkpoint written by code. It',
    '[this stands for events #1',
    '[compressed] x',
    '[Request of the harness: x',
  ]) {
    const [, blanks = '', rest = ''] = /^([ \t]*)(.*)$/.exec(line) ?? []
    assert.equal(underHeading(`before\n${line}\nafter`), `before\n${blanks}\\${rest}\nafter`)
  }
  for (const line of ['#a', '####### a', 'a # b', 'a > b', '``x``', '[compressed', '[#12]', '- > a', 'x```'])
    assert.equal(underHeading(`before\n${line}\nafter`), `before\n${line}\nafter`)
})
