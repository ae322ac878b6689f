import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import { isCompactCheckpointSource } from '../../src/shared/checkpoint-source.ts'
import { shadowCopy, shadowEvents } from '../../src/shared/compaction/prune.ts'
import { SessionError } from '../../src/shared/errors.ts'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import type { SurfaceNode } from '../../src/shared/session/events.ts'
import {
  type Acceptance,
  failsWith,
  openAcceptance,
  reached,
  SUMMARY,
  whenIdle,
} from '../support/acceptance.ts'

// D7 and D8: the span changes meanwhile, and the summary is none. On the real path.

let stage: Acceptance
before(async () => {
  stage = await openAcceptance()
})
after(() => stage.close())

describe('D7: the span changes while it is summarized', { concurrency: true }, () => {
  /** A rival writer shortens one result of the span: another node, another price. */
  async function rival(
    session: Session,
    pick: (results: SurfaceNode[]) => SurfaceNode | undefined,
  ): Promise<number> {
    const { nodes } = await stage.surface(session)
    const target = pick(nodes.filter(({ type }) => type === 'tool/result'))
    assert.ok(target?.type === 'tool/result')
    await stage.append(
      session,
      ...shadowEvents(shadowCopy(target, [text('short')]), 1, { turn: null, step: null }),
    )
    return target.seq
  }
  async function read(): Promise<Session> {
    const session = await stage.spoken()
    for (const prompt of ['Read.', 'Read both.']) await stage.talk(session, prompt)
    return session
  }
  async function assertChanged(
    session: Session,
    compaction: Promise<unknown>,
    changed: number,
  ): Promise<void> {
    await failsWith(compaction, 'changed')
    const ends = await stage.ofType(session, 'compact/end')
    assert.equal(ends.at(-1)?.data.error?.code, 'changed')
    assert.deepEqual(await stage.ofType(session, 'compact/summary'), [])
    const { nodes } = await stage.surface(session)
    assert.ok(!nodes.some(({ seq }) => seq === changed), 'the rival change is kept')
    assert.ok(
      nodes.every((node) => node.type !== 'user/message' || !isCompactCheckpointSource(node.data.source)),
    )
  }

  for (const [where, pick] of [
    ['middle', (results: SurfaceNode[]) => results[0]],
    ['last node', (results: SurfaceNode[]) => results.at(-1)],
  ] as const) {
    test(`D7: its ${where}, with its price → changed, the rival change is kept`, async () => {
      const session = await read()
      const gate = stage.holdSummaries(session)
      const compaction = session.compactNow()
      compaction.catch(() => undefined)
      await reached(gate, compaction)
      const changed = await rival(session, pick)
      gate.open()
      await assertChanged(session, compaction, changed)
    })
  }

  test('D7: a copy of the same price is a change too, and so is one between the check and the commit', async () => {
    const session = await read()
    let changed = 0
    stage.hooks.on(session.id, 'commitAttempt', async (write) => {
      const { nodes } = await stage.surface(session)
      const target = nodes.find(({ type }) => type === 'tool/result')
      assert.ok(target?.type === 'tool/result')
      changed = target.seq
      const copy = shadowCopy(target, [text('as dear as before')])
      await stage.append(session, ...shadowEvents(copy, target.tokens, { turn: null, step: null }))
      return write()
    })
    await assertChanged(session, session.compactNow(), changed)
  })

  test('D7: its head, a checkpoint that somebody wants undone, cannot leave while the bracket is open', async () => {
    const session = await read()
    const earlier = (await session.compactNow()) ?? assert.fail('null')
    for (const prompt of ['Talk.', 'Talk.', 'Talk.']) await stage.talk(session, prompt)
    const gate = stage.holdSummaries(session)
    const compaction = session.compactNow()
    await reached(gate, compaction)
    const undo = stage.append(session, {
      key: `compact.${earlier.compactionId}.restore`,
      type: 'compact/restore',
      turn: null,
      step: null,
      data: { compactionId: earlier.compactionId, checkpoint: earlier.checkpointSeq },
      tokens: 0,
      surfaceOp: { op: 'restore', node: earlier.checkpointSeq },
    })
    await assert.rejects(undo, /compaction .* is open/)
    gate.open()
    assert.equal((await compaction)?.shadowedSeqs[0], earlier.checkpointSeq)
  })
})

describe('D8: a summary that is none', { concurrency: true }, () => {
  const image: ContentBlock = {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
  }
  const call: ContentBlock = { type: 'tool_use', id: 'x', name: 'words', input: {} }
  const BAD: readonly (readonly [string, () => string | { content: ContentBlock[]; stopReason?: string }])[] =
    [
      ['failed', () => assert.fail('unreachable')],
      ['blank', () => ' \n'],
      ['truncated', () => ({ content: [text('Words were')], stopReason: 'max_tokens' })],
      ['refusal', () => ({ content: [text(SUMMARY)], stopReason: 'refusal' })],
      ['not-text', () => ({ content: [text(SUMMARY), image] })],
      ['tool-use', () => ({ content: [text(SUMMARY), call], stopReason: 'end_turn' })],
      ['not-smaller', () => 'word '.repeat(20_000)],
    ]
  const answer = (bad: (typeof BAD)[number]) => () => {
    if (bad[0] === 'failed')
      throw new SessionError('ModelFailed', 'The provider is gone.', { retryable: false })
    return bad[1]()
  }

  test('D8: each way of failing is `summary`, and the surface is byte for byte as before', async () => {
    const session = await stage.spoken()
    await whenIdle(session)
    const before = await stage.surface(session)
    for (const bad of BAD) {
      stage.summarize(session, answer(bad))
      await failsWith(
        session.compactNow({ whenBusy: 'wait' }),
        'summary',
        new RegExp(bad[0] === 'failed' ? 'gone' : bad[0]),
      )
      const { nodes, generation } = await stage.surface(session)
      assert.equal(
        JSON.stringify({ nodes, generation }),
        JSON.stringify({ nodes: before.nodes, generation: before.generation }),
      )
    }
    const ends = await stage.ofType(session, 'compact/end')
    assert.deepEqual(
      ends.map(({ data }) => data.error?.code),
      BAD.map(() => 'summary'),
    )
    stage.summarize(session, () => SUMMARY)
    assert.ok(await session.compactNow({ whenBusy: 'wait' }), 'the session is none the worse for it')
  })

  test('D8: with summaryFallback always code writes the checkpoint, and the log says so', async () => {
    const session = await stage.spoken({ policy: { summaryFallback: 'always' } })
    stage.summarize(session, answer(['blank', () => '']))
    const result = (await session.compactNow()) ?? assert.fail('null')
    assert.equal(result.model, 'deterministic')
    const [summary] = await stage.ofType(session, 'compact/summary')
    assert.deepEqual([summary?.data.provider, summary?.data.model], ['durable-compaction', 'deterministic'])
    assert.deepEqual(
      [summary?.data.llmStreamCall, summary?.data.rawOutput, summary?.data.usage],
      [undefined, undefined, undefined],
    )
    assert.equal(
      (await stage.store.attempt(session.id, result.compactionId))?.outcome?.reason,
      'deterministic',
    )
    const calls = await stage.ofType(session, 'compact/call')
    assert.deepEqual(
      calls.map(({ data }) => data.refusedBecause),
      ['blank', 'blank'],
      'what was paid in vain is there',
    )
  })
})
