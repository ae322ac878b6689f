import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Chats, chatsOf } from '../support/chats.ts'
import {
  call,
  type FaultSession,
  type FaultSessions,
  ofType,
  openFaultSessions,
} from '../support/fault-sessions.ts'
import { Gate } from '../support/gate.ts'
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
    '/cancel takes back what was said last and waits, also what another chat has said; the turn goes on',
    LIMIT,
    async () => {
      const { fault, gate, child } = await working()
      for (const line of ['One.', 'Two.', 'Three.']) child.type(line)
      await child.says(/^\(Waits: Three\.\)$/m)
      child.type('/cancel')
      await child.says(/^Taken back: Three\.$/m)
      const other = await chats.through(fault.session.id, ['/cancel'])
      assert.deepEqual([other.code, other.stdout], [0, 'Taken back: Two.\n'])
      gate.open()
      await child.says(/^Answer to: One\.$/m)
      child.type('/cancel')
      await child.says(/^NotFound: Nothing waits/m)
      child.endInput()
      const { stdout } = await child.done
      assert.match(stdout, /^Taken back: Three\.\nAnswer to: .*\nAnswer to: One\.\n$/)
      const prompts = ofType(await fault.sound(), 'user/message').map(({ data }) => data.content[0]?.['text'])
      assert.deepEqual(prompts, ['Work.', 'One.'])
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
      const prompts = ofType(await fault.sound(), 'user/message').map(({ data }) => data.content[0]?.['text'])
      assert.deepEqual(prompts, ['Work.', 'Three.'])
    },
  )
})
