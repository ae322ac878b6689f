import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import { isSessionError } from '../../src/shared/errors.ts'
import { ContextOverflowError, type ModelRequest } from '../../src/shared/ports/model.ts'
import {
  assertRequests,
  calls,
  openPlayedSessions,
  type PlayedSession,
  type PlayedSessions,
  SUMMARY,
  textOf,
} from '../support/played-sessions.ts'
import { lastReading } from '../support/real-sessions.ts'

// Policies, case by case, in sessions that really run.

let played: PlayedSessions
before(async () => {
  played = await openPlayedSessions()
})
after(() => played.close())

const attempts = (one: PlayedSession) => played.real.store.attempts({ sessionId: one.session.id })
const policyOf = async (one: PlayedSession) => (await one.session.stored())?.header.policy
/** So many results of a thousand tokens, then an answer. */
const results =
  (count: number) =>
  ({ index }: ModelRequest) =>
    index < count ? calls([`r${index}`, 1_000]) : 'Done.'
const facts = (contextWindow: number) => ({
  provider: 'scripted',
  model: `w${contextWindow}`,
  contextWindow,
  maxOutputTokens: null,
})

describe('policies', { concurrency: true }, () => {
  test('A1 A2 A3 A4 a session keeps what its policy resolves to, and the header of its log says all of it', async () => {
    const policy = {
      thresholdTokens: 9_000,
      models: [{ provider: 'scripted', model: 'w64000', retainTokens: 2_000, summarizer: null }],
      summarizer: { provider: 'scripted', model: 'w32000' },
    }
    const own = await played.start({ turn: results(0) }, { model: 'scripted/w64000', policy })
    const other = await played.start({ turn: results(0) }, { model: 'scripted/w32000', policy })
    const plain = await played.start({ turn: results(0) })
    assert.deepEqual(await policyOf(own), resolvePolicy(policy, facts(64_000)))
    assert.equal((await policyOf(own))?.retainTokens, 2_000)
    assert.equal((await policyOf(other))?.retainTokens, resolvePolicy(policy, facts(32_000)).retainTokens)
    assert.deepEqual(await policyOf(plain), resolvePolicy({}, facts(16_000)))
    const [header] = await plain.of('request/header')
    assert.deepEqual(header?.data.policy, await policyOf(plain))
  })

  test('A5 a bad policy is refused when the session starts, with field, value and limit; nothing is left', async () => {
    const bad: readonly (readonly [object, RegExp])[] = [
      [{ thresholdTokens: 0 }, /thresholdTokens.*0/],
      [{ retainTokens: 9_000, thresholdTokens: 8_000 }, /retainTokens.*8000.*9000/],
      [{ thresholdRatio: 0.5, thresholdTokens: 5_000 }, /thresholdTokens.*thresholdRatio 0\.5.*5000/],
      [{ summarizer: { provider: 'scripted' } }, /summarizer/],
      [{ treshold: 1 }, /treshold/],
    ]
    for (const [policy, sentence] of bad) {
      const sessionId = `bad-${bad.findIndex(([each]) => each === policy)}`
      const started = played.real.sessions.start(sessionId, {
        model: 'scripted/w16000',
        policy: { ...policy },
      })
      await assert.rejects(started, (error) => {
        assert.ok(isSessionError(error, 'InvalidPolicy'), String(error))
        assert.match(error.message, sentence)
        return true
      })
      assert.equal(await played.real.store.session(sessionId), null)
    }
  })

  for (const preset of ['default', 'lean', 'threeLevel'] as const)
    test(`A6 preset ${preset} compacts five times in a row on a window of 32,000`, async () => {
      const one = await played.start(
        { turn: ({ index }) => (index % 2 === 0 ? calls([`r${index}`, 1_500]) : 'Done.') },
        { model: 'scripted/w32000', preset, policy: { archive: false } },
      )
      for (let pass = 0; pass < 5; pass++) {
        assert.equal((await one.ask(`Part ${pass}.`)).reason, 'completed')
        assert.notEqual(await one.session.compactNow(), null)
      }
      assert.equal((await one.ask('And now?')).reason, 'completed')
      assert.equal((await one.of('compact/summary')).filter(({ turn }) => turn === null).length, 5)
      assertRequests([...one.requests, ...one.summaries], 32_000)
    })

  test('A7 `auto: false`: above every limit nothing compacts by itself, no tool is offered; a person still can', async () => {
    const policy = { auto: false, thresholdTokens: 3_000, micro: { keepLast: 0, minReclaimTokens: 0 } }
    const one = await played.start({ turn: results(7) }, { policy })
    assert.equal((await one.ask('Go.')).reason, 'completed')
    assert.deepEqual(await attempts(one), [])
    assert.deepEqual(
      (await one.events()).filter(({ type }) => type.startsWith('compact/')),
      [],
    )
    const offered = one.requests.flatMap(({ tools }) => tools.map(({ name }) => name))
    assert.ok(!offered.includes('compact'), 'the tool is offered')
    const last = one.requests.at(-1) as ModelRequest
    for (let index = 0; index < 7; index++)
      assert.ok(textOf(last).includes(`end-of-r${index}`), `r${index} is gone`)
    const result = await one.session.compactNow()
    assert.equal(result?.cause, 'manual')
    assert.equal((await one.ask('Still there?')).reason, 'completed')
    assert.match(textOf(one.requests.at(-1) as ModelRequest), new RegExp(SUMMARY))
  })

  test('A7 `auto: false`: what does not fit is refused and not shortened behind anybody’s back (fault M02)', async () => {
    const one = await played.start({ turn: results(14) }, { policy: { auto: false } })
    const { reason, code } = await one.ask('Go.')
    assert.deepEqual([reason, code], ['error', 'ContextTooLarge'])
    const surface = JSON.stringify((await played.real.store.surface(one.session.id)).nodes)
    for (const { data } of await one.of('tool/result'))
      assert.ok(surface.includes(JSON.stringify(data.content)), `${data.callId} is gone`)
  })

  test('A8 no known window: no pressure, a refused request is recovered all the same', async () => {
    const one = await played.start(
      {
        turn: (request) => {
          if (request.index < 12) return calls([`r${request.index}`, 2_000])
          if (!textOf(request).includes(SUMMARY)) throw new ContextOverflowError('prompt is too long')
          return 'Done.'
        },
      },
      { model: 'scripted/unknown', policy: { micro: false } },
    )
    assert.equal((await one.ask('Go.')).reason, 'completed')
    const reading = await lastReading(one.session)
    assert.deepEqual([reading?.limit, reading?.pressure], [null, 'none'])
    assert.deepEqual(
      (await attempts(one)).map(({ cause }) => cause),
      ['context-overflow'],
    )
  })

  test('A8 no known window, but a threshold in tokens: pressure is on (fault M04)', async () => {
    const policy = { thresholdTokens: 6_000, retainTokens: 1_500, prune: false, micro: false }
    const one = await played.start({ turn: results(8) }, { model: 'scripted/unknown', policy })
    assert.equal((await one.ask('Go.')).reason, 'completed')
    assert.equal((await attempts(one))[0]?.cause, 'pressure')
    assert.notEqual(one.summaries.length, 0)
  })
})
