import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { text } from '../../src/shared/session/content.ts'
import { call, checkpointOf, nodeBuilder, pageOf, testPolicy } from './checkpoint-fixtures.ts'

describe('lost', () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `src/part${index}/file_number_${index}.ts`)

  function crowded() {
    const { user, assistant, result, bulk } = nodeBuilder()
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    return [
      user([image, text('Go through all files.')]),
      assistant({ type: 'thinking', thinking: 'long', signature: 's' }, call('c1', 'list_files', {})),
      result('c1', 'list_files', names.join('\n')),
      ...bulk(),
      assistant(text('All of them are listed.')),
    ]
  }

  test('counts what left the surface: messages by type, blocks by type', () => {
    const { counts } = checkpointOf(crowded()).lost
    const {
      'user/message': users,
      'assistant/message': replies,
      'tool/result': results,
      image,
      thinking,
      tool_use: calls,
    } = counts
    assert.deepEqual([users, replies, results, image, thinking, calls], [1, 3, 2, 1, 1, 2])
  })

  test('names identifiers of the span that are not in the checkpoint, and no other; counts all of them by kind', () => {
    const checkpoint = checkpointOf(crowded(), { policy: testPolicy({}, 32_000) })
    const page = pageOf(checkpoint)
    const { identifiers, counts } = checkpoint.lost
    assert.ok(identifiers.length > 0 && identifiers.length <= 200)
    for (const name of identifiers) assert.ok(!page.includes(name), name)
    const missing = names.filter((name) => !page.includes(name.split('/').at(-1) ?? ''))
    assert.equal(counts['path'], missing.length)
  })

  test('what fits is not lost, nor is what the tail holds', () => {
    const { user, assistant, bulk } = nodeBuilder()
    const nodes = [user('Fix sendChunk in src/upload/uploader.ts.'), ...bulk(), assistant(text('Fixed.'))]
    assert.deepEqual(checkpointOf(nodes).lost.identifiers, [])
  })

  test('counts the user’s messages and the pins that are not shown', () => {
    const { user, bulk } = nodeBuilder()
    const wishes = Array.from({ length: 80 }, (_, index) =>
      user(`Wish ${index}: ${'and please keep this in mind too '.repeat(40)}`),
    )
    const pinned = user(`<keep>${'rule '.repeat(2_500)}</keep>`)
    const { counts } = checkpointOf([...wishes, pinned, ...bulk()]).lost
    assert.ok((counts['userText'] ?? 0) > 0)
    assert.equal(counts['pin'], 1)
  })
})
