import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { takeBackWaiting } from '../../src/cli/chat/waiting.ts'
import { type Chats, chatsOf } from '../support/chats.ts'
import { eventually } from '../support/eventually.ts'
import {
  call,
  type FaultSession,
  type FaultSessions,
  ofType,
  openFaultSessions,
} from '../support/fault-sessions.ts'
import { Gate } from '../support/gate.ts'
import { whenIdle } from '../support/real-sessions.ts'
import type { StartedCli } from '../support/run-cli.ts'

// What a person says in `chat` while a turn runs: it waits in the session, not in the process.

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
/** An attempt that is made again on a machine that stands still would find its tool begun. */
const ONCE = { heartbeatTimeoutMs: 120_000 }

describe('chat', { concurrency: 3 }, () => {
  /** A session that answers what it was told last, its first turn in a tool that is held. */
  async function working(): Promise<{ fault: FaultSession; gate: Gate; child: StartedCli }> {
    const gate = new Gate()
    const fault = await faults.open(
      {
        window: 64_000,
        reply: ({ index, messages }) =>
          index === 0
            ? { content: [call('c0')] }
            : `Answer to: ${String(messages.at(-1)?.content.at(-1)?.['text'] ?? 'the work')}`,
      },
      {
        ...ONCE,
        work: async () => {
          await gate.wait()
          return 'done'
        },
      },
    )
    const child = chats.open(fault.session.id)
    child.type('Work.')
    await gate.reached
    return { fault, gate, child }
  }
  const prompts = async (fault: FaultSession) =>
    ofType(await fault.sound(), 'user/message').map(({ data }) => data.content[0]?.['text'])
  const waiting = (fault: FaultSession) => faults.store.inbox(fault.session.id, { state: 'waiting' })

  test(
    'what is said during a turn is in the session at once: a killed chat loses nothing, who comes back sees what waits, and it is answered',
    LIMIT,
    async () => {
      const { fault, gate, child } = await working()
      child.type('One.')
      child.type('')
      child.type('Two \\')
      child.type('lines.')
      await child.says(/^\(Waits: One\.\)\n\(Waits: Two lines\.\)$/m)
      child.kill()
      await child.done
      assert.equal((await waiting(fault)).length, 2)
      const second = chats.open(fault.session.id)
      await second.says(/^\(Waits: One\.\)\n\(Waits: Two lines\.\)$/m)
      gate.open()
      await second.says(/^Answer to: Two \nlines\.$/m)
      second.endInput()
      const { code, stderr } = await second.done
      assert.equal(code, 0)
      assert.match(stderr, /^#\d+ user One\.$/m)
      const ends = ofType(await fault.sound(), 'turn/end').map(({ data }) => data.reason)
      assert.deepEqual(ends, ['completed', 'completed', 'completed'])
    },
  )

  test(
    '/cancel takes back what was said last in this chat and waits, and names what others have said; the turn goes on',
    LIMIT,
    async () => {
      const { fault, gate, child } = await working()
      for (const line of ['One.', 'Two.', 'Three.']) child.type(line)
      await child.says(/^\(Waits: Three\.\)$/m)
      child.type('/cancel')
      await child.says(/^Taken back: Three\.$/m)
      const { requestId } = await fault.session.prompt('By a program.')
      child.type('/cancel')
      await child.says(/^Taken back: Two\.$/m)
      const other = await chats.through(fault.session.id, ['/cancel'])
      assert.deepEqual([other.code, other.stdout], [3, ''])
      assert.match(
        other.stderr,
        /^NotFound: Nothing waits that was said in this chat\..*: By a program\. \(/m,
      )
      assert.match(other.stderr, new RegExp(`cancel ${fault.session.id} --prompt ${requestId} takes`))
      gate.open()
      await child.says(/^Answer to: One\.$/m)
      await child.says(/^Answer to: By a program\.$/m)
      child.type('/cancel')
      await child.says(/^NotFound: Nothing waits that could/m)
      child.endInput()
      const { stdout } = await child.done
      assert.match(stdout, /^Taken back: Three\.\nTaken back: Two\.\nAnswer to: .*\nAnswer to: One\.\n/)
      assert.deepEqual(await prompts(fault), ['Work.', 'One.', 'By a program.'])
    },
  )

  test(
    'Ctrl-C stops the turn and takes back what was said meanwhile; what is said next is answered',
    LIMIT,
    async () => {
      const { fault, gate, child } = await working()
      for (const line of ['One.', 'Two.']) child.type(line)
      await child.says(/^\(Waits: Two\.\)$/m)
      child.interrupt()
      await child.says(/^\(Taken back: Two\.\)$/m)
      await child.says(/^\(Taken back: One\.\)$/m)
      await child.says(/^The turn ended: aborted: Ctrl-C$/m)
      child.type('Three.')
      await child.says(/^Answer to: Three\.$/m)
      child.endInput()
      await child.done
      gate.open()
      assert.deepEqual(await waiting(fault), [])
      assert.deepEqual(await prompts(fault), ['Work.', 'Three.'])
    },
  )

  test(
    'Ctrl-C takes back what waits behind a turn of before, and stops that turn; it is no failure',
    LIMIT,
    async () => {
      const { fault, gate, child } = await working()
      child.kill()
      await child.done
      const second = chats.open(fault.session.id)
      await second.says(/^Session /m)
      second.type('One.')
      await eventually(
        () => fault.session.state(),
        ({ waitingPrompts }) => waitingPrompts === 1,
      )
      second.interrupt()
      await second.says(/^\(Taken back: One\.\)$/m)
      await second.says(/^The turn ended: aborted: Ctrl-C$/m)
      second.type('Two.')
      await second.says(/^Answer to: Two\.$/m)
      second.endInput()
      const { code, stderr } = await second.done
      gate.open()
      assert.deepEqual([code, stderr.includes('Cancelled')], [0, false], stderr)
      assert.deepEqual(await prompts(fault), ['Work.', 'Two.'])
    },
  )

  test(
    'what stands behind a command is taken back, too: the last of it by /cancel, all by Ctrl-C; the command runs',
    LIMIT,
    async () => {
      const { fault, gate, child } = await working()
      for (const line of ['One.', '/context', 'Two.', 'Three.', 'Four.', '/cancel']) child.type(line)
      await child.says(/^Taken back: Four\.$/m)
      await child.says(/^\(Waits: One\.\)$/m)
      child.type('/steer Mind the gap.')
      await child.says(/^\(Joins the turn at its next step: Mind the gap\.\)$/m)
      child.type('/cancel')
      await child.says(/^Taken back: Three\.$/m)
      child.interrupt()
      await child.says(/^\(Taken back: Two\.\)$/m)
      await child.says(/^\(Taken back: One\.\)$/m)
      await child.says(/^part +tokens +share$/m)
      child.endInput()
      await child.done
      gate.open()
      await whenIdle(fault.session)
      const said = await prompts(fault)
      for (const text of ['One.', 'Two.', 'Three.', 'Four.']) assert.ok(!said.includes(text), text)
    },
  )

  test('/cancel of what has just begun stops nothing', LIMIT, async () => {
    const { fault, gate, child } = await working()
    const [work] = ofType(await faults.log(fault.session), 'user/message')
    assert.equal(await takeBackWaiting(fault.session, work?.data.requestId ?? '', '/cancel'), false)
    const { requestId } = await fault.session.prompt('One.')
    assert.equal(await takeBackWaiting(fault.session, requestId, '/cancel'), true)
    gate.open()
    await child.says(/^Answer to: /m)
    child.endInput()
    assert.equal((await child.done).code, 0)
    assert.deepEqual(await prompts(fault), ['Work.'])
  })
})
