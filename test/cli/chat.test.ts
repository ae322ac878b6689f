import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { ModelCallContext } from '../../src/shared/ports/model.ts'
import { createSessionWorker, scriptedModel } from '../../src/worker/index.ts'
import { type Chats, chatsOf } from '../support/chats.ts'
import { eventually } from '../support/eventually.ts'
import {
  call,
  type FaultSession,
  type FaultSessions,
  ofType,
  openFaultSessions,
  requestsFor,
  rounds,
  saidIn,
} from '../support/fault-sessions.ts'
import { Gate } from '../support/gate.ts'
import { whenIdle } from '../support/real-sessions.ts'
import { runCli } from '../support/run-cli.ts'

// `chat` as a person has it over a pipe: a process of its own, on sessions of a worker in this one. What a terminal adds is in chat-lines.test.ts.

let faults: FaultSessions
let chats: Chats
before(
  async () => {
    faults = await openFaultSessions()
    chats = chatsOf(faults)
  },
  { timeout: 180_000 },
)
after(async () => {
  chats.kill()
  await faults.close()
})

const LIMIT = { timeout: 240_000 }

const chat = (id: string, ...options: string[]) => chats.open(id, ...options)
const chatThrough = (id: string, lines: readonly string[], ...options: string[]) =>
  chats.through(id, lines, ...options)

/** Until the call is aborted. */
const forEver = ({ signal }: ModelCallContext) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

/** An attempt that is made again on a machine that stands still would say its text again. */
const ONCE = { heartbeatTimeoutMs: 120_000 }

/** Says the beginning of its first reply, and holds the rest. */
async function speaking(): Promise<{ fault: FaultSession; gate: Gate }> {
  const gate = new Gate()
  const fault = await faults.open(
    {
      window: 64_000,
      reply: async ({ index }, { onDelta }) => {
        if (index > 0) return 'Something else.'
        onDelta?.({ text: 'The first half, ' })
        await gate.wait()
        return 'The first half, and the second.'
      },
    },
    ONCE,
  )
  return { fault, gate }
}

/** A worker that can be stopped, on a queue of its own. */
async function ownWorker(): Promise<{ taskQueue: string; stop(): Promise<void> }> {
  const { connection, store, bundle } = faults
  const taskQueue = 'own'
  const worker = await createSessionWorker({
    connection,
    store,
    taskQueue,
    models: { own: scriptedModel(() => 'Fine.') },
    workflows: { workflowBundle: bundle },
    worker: { shutdownGraceTime: 0, shutdownForceTime: '2s' },
  })
  const running = worker.run()
  return {
    taskQueue,
    async stop() {
      worker.shutdown()
      await running
    },
  }
}

describe('chat', { concurrency: 3 }, () => {
  test(
    'shows an answer while it is said, calls and results beside it; only answers are on the output',
    LIMIT,
    async () => {
      const gate = new Gate()
      const fault = await faults.open(
        {
          window: 64_000,
          reply: async ({ index }, { onDelta }) => {
            if (index === 0) return { content: [call('c0', { path: 'a.txt' })] }
            onDelta?.({ text: 'The first half, ' })
            await gate.wait()
            return 'The first half, and the second.'
          },
        },
        { ...ONCE, work: async () => 'one\ntwo\nthree' },
      )
      const child = chat(fault.session.id)
      child.type('Read it.')
      await child.says(/The first half, $/)
      gate.open()
      await child.says(/and the second\.\n/)
      child.endInput()
      const { code, stdout, stderr } = await child.done
      assert.deepEqual([code, stdout], [0, 'The first half, and the second.\n'])
      assert.match(stderr, /^→ work \{"path":"a\.txt"\}\n← work: one \(3 lines\)$/m)
      assert.match(
        stderr,
        new RegExp(`^Session ${fault.session.id} stays: the same command comes back to it\\.$`, 'm'),
      )
      assert.doesNotMatch(stderr, /Read it\./, 'what was typed is not repeated')
    },
  )

  test(
    'starts a session with its settings; the same id comes back to it, also after it was closed',
    LIMIT,
    async () => {
      const { session } = await faults.open({ window: 64_000, reply: ({ index }) => `Answer ${index}.` })
      const { header } = (await faults.store.session(session.id)) ?? {}
      const settings = ['--model', `scripted/${header?.model}`, '--system', 'Be brief.', '--tools', 'work']
      const first = await chatThrough('again', ['One.', 'Two.'], ...settings)
      assert.deepEqual([first.code, first.stdout], [0, 'Answer 0.\nAnswer 1.\n'], first.stderr)
      const second = await chatThrough('again', ['Three \\', 'lines.'])
      assert.deepEqual(
        [second.code, second.stdout],
        [0, 'Answer 1.\nAnswer 2.\n'],
        'the last turn is shown again',
      )
      assert.match(second.stderr, /^Session again, scripted\/model-\d+, 2 turns so far\./m)
      assert.match(second.stderr, /^#\d+ user Two\.$/m)
      await faults.sessions.get('again').close()
      await faults.sessions.get('again').workflow.result()
      const third = await chatThrough('again', ['Four.'])
      assert.deepEqual([third.code, third.stdout], [0, 'Answer 2.\nAnswer 3.\n'], third.stderr)
      const row = await faults.store.session('again')
      assert.deepEqual([row?.life, row?.header.system, row?.header.asked?.tools], [2, 'Be brief.', ['work']])
      const prompts = ofType(await faults.log(faults.sessions.get('again')), 'user/message')
      assert.deepEqual(prompts.at(-2)?.data.content, [{ type: 'text', text: 'Three \nlines.' }])
    },
  )

  test('/compact with a focus, /context, /undo and /history', LIMIT, async () => {
    const fault = await faults.open({
      window: 64_000,
      reply: () => 'Fine.',
      summary: 'Questions were asked.',
    })
    await fault.seed(rounds(4, 600))
    const { code, stdout, stderr } = await chatThrough(fault.session.id, [
      'Hello.',
      '/compact the answers',
      '/context',
      '/undo',
      '/undo',
      '/history',
    ])
    assert.equal(code, 3, 'that of the second /undo')
    assert.match(
      stdout,
      /^Fine\.\nmanual\.\S+: [\d,]+ → [\d,]+ tokens, \d+ messages, .*\npart +tokens +share\n/,
    )
    assert.match(stdout, /^\d+ messages are back in the place of checkpoint #\d+: /m)
    assert.match(stdout, /^when \(UTC\).*\n-.*\n.* manual .* compacted, undone \(#\d+\)$/m)
    assert.match(
      stderr,
      /^compacting \(manual\) …\nsummary: call 1 \(summary\)\n\d+ messages, [\d,]+ tokens → checkpoint\ncompacted$/m,
    )
    assert.match(stderr, /^NotFound: There is no compaction to undo\.$/m)
    const [made] = ofType(await fault.sound(), 'compact/start')
    assert.equal(made?.data.focus, 'the answers')
  })

  test('Ctrl-C stops the turn and keeps what was said; the next message is answered', LIMIT, async () => {
    const fault = await faults.open({
      window: 64_000,
      reply: async ({ index }, context) => {
        if (index > 0) return 'I see.'
        context.onDelta?.({ text: 'A long story. ' })
        return forEver(context)
      },
    })
    const child = chat(fault.session.id)
    child.type('Tell.')
    await child.says(/A long story\./)
    child.interrupt()
    await child.says(/^The turn ended: aborted: Ctrl-C$/m)
    child.type('Enough.')
    await child.says(/^I see\.$/m)
    child.endInput()
    assert.equal((await child.done).code, 1, 'the first failure of a pipe is its code')
    const replies = ofType(await fault.sound(), 'assistant/message').map(({ data }) => data.interrupted)
    assert.deepEqual(replies, [true, undefined])
  })

  test(
    'Ctrl-C when nothing runs leaves; so does a second one, when nobody is there who could stop the turn',
    LIMIT,
    async () => {
      const { taskQueue, stop } = await ownWorker()
      const session = await faults.sessions.start('left', { model: 'own/echo', taskQueue })
      assert.equal((await (await session.prompt('Hello.')).result()).reason, 'completed')
      await whenIdle(session)
      await stop()
      const idle = chat('left')
      await idle.says(/^Session left, /m)
      idle.interrupt()
      const alone = chat('left')
      alone.type('Is anybody there?')
      await eventually(
        () => faults.store.inbox('left', { state: 'waiting' }),
        (waiting) => waiting.length === 1,
      )
      alone.interrupt()
      await alone.says(/^Stopping\. Ctrl-C again leaves without waiting for it\.$/m)
      alone.interrupt()
      for (const { code, stderr } of [await idle.done, await alone.done]) {
        assert.equal(code, 130)
        assert.match(
          stderr,
          /^Left by Ctrl-C; what runs goes on\. Session left stays: the same command comes back to it\.$/m,
        )
      }
    },
  )

  test('Ctrl-C cancels a compaction, and the chat goes on', LIMIT, async () => {
    const gate = new Gate()
    const fault = await faults.open({
      window: 64_000,
      reply: () => 'Fine.',
      summary: async () => {
        await gate.wait()
        return 'Late.'
      },
    })
    await fault.seed(rounds(4, 600))
    const child = chat(fault.session.id)
    child.type('/compact')
    await gate.reached
    child.interrupt()
    await child.says(/^The compaction was cancelled; the conversation is as it was\.$/m)
    child.type('Hello.')
    await child.says(/^Fine\.$/m)
    child.endInput()
    assert.equal((await child.done).code, 130)
    gate.open()
    const [end] = ofType(await fault.sound(), 'compact/end')
    assert.equal(end?.data.error?.code, 'cancelled')
  })

  test(
    'left in the middle of an answer, the turn goes on; who comes back sees it from its beginning, once',
    LIMIT,
    async () => {
      const { fault, gate } = await speaking()
      const first = chat(fault.session.id)
      first.type('Tell.')
      await first.says(/The first half, $/)
      first.kill()
      await first.done
      const second = chat(fault.session.id)
      await second.says(/The first half, $/)
      gate.open()
      await second.says(/and the second\.\n/)
      second.type('And then?')
      await second.says(/Something else\.\n/)
      second.endInput()
      const { code, stdout, stderr } = await second.done
      assert.deepEqual([code, stdout], [0, 'The first half, and the second.\nSomething else.\n'])
      assert.match(stderr, /^#\d+ user Tell\.$/m)
      await fault.sound()
    },
  )

  test(
    '/steer joins the running turn at its next step; what else is said waits for its end',
    LIMIT,
    async () => {
      const gate = new Gate()
      const fault = await faults.open(
        {
          window: 64_000,
          reply: ({ index }) => (index === 0 ? { content: [call('c0')] } : `Answer ${index}.`),
        },
        {
          work: async () => {
            await gate.wait()
            return 'done'
          },
        },
      )
      const child = chat(fault.session.id)
      child.type('Work.')
      await gate.reached
      child.type('/steer Mind the gap.')
      child.type('And afterwards?')
      await child.says(/\(Joins the turn at its next step: Mind the gap\.\)/)
      await child.says(/\(Waits: And afterwards\?\)/)
      // The signal that tells the workflow is sent behind the store's row.
      await eventually(
        () => fault.session.state(),
        ({ waitingPrompts }) => waitingPrompts === 2,
      )
      gate.open()
      await child.says(/^Answer 2\.$/m)
      child.endInput()
      const { code, stdout } = await child.done
      assert.deepEqual([code, stdout], [0, 'Answer 1.\nAnswer 2.\n'])
      const [, second, third] = requestsFor('turn', fault).map(saidIn)
      assert.ok(second?.includes('Mind the gap.') && !second.includes('And afterwards?'))
      assert.ok(third?.includes('And afterwards?'))
      assert.deepEqual(ofType(await fault.sound(), 'turn/end').length, 2)
    },
  )

  test('--json: one value a line, for each answer and each command; errors too', LIMIT, async () => {
    const fault = await faults.open({ window: 64_000, reply: () => 'Fine.' })
    const { code, stdout, stderr } = await chatThrough(
      fault.session.id,
      ['Hello.', '/context', '/nope', '/quit', 'never said'],
      '--json',
    )
    assert.equal(code, 2)
    const [answer, context, ...more] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(
      [answer.turn, answer.reason, answer.message],
      [1, 'completed', [{ type: 'text', text: 'Fine.' }]],
    )
    assert.deepEqual([context.sessionId, more], [fault.session.id, []])
    assert.equal(JSON.parse(stderr).error.name, 'UsageError')
    assert.equal(requestsFor('turn', fault).length, 1)
  })

  test(
    'a turn that fails is told, and is the exit code; what cannot begin has the codes of the other commands',
    LIMIT,
    async () => {
      const fault = await faults.open({
        window: 64_000,
        reply: ({ index }) => {
          if (index === 0) return { content: [], stopReason: 'refusal' }
          return 'Fine.'
        },
      })
      const [refused, unknown, unreachable] = [
        await chatThrough(fault.session.id, ['Hello.', 'Hello again.']),
        await chatThrough('new-one', ['Hello.'], '--model', 'nobody/nothing'),
        await runCli(
          ['chat', 'x', '--address', '127.0.0.1:1', '--store', join(faults.folder, 'none.db')],
          {},
          'Hello.\n',
        ),
      ]
      assert.deepEqual([refused.code, refused.stdout], [1, 'Fine.\n'], refused.stderr)
      assert.match(refused.stderr, /^The turn ended: blocked/m)
      assert.equal(unknown.code, 2)
      assert.match(unknown.stderr, /^UnknownModel: .*"nobody"/m)
      assert.equal(unreachable.code, 4)
      assert.match(unreachable.stderr, /^TemporalUnreachable: /m)
    },
  )
})
