import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session } from '../../src/client/index.ts'
import type { TurnResult } from '../../src/client/turn.ts'
import { type CompactionErrorCode, ManualCompactionError } from '../../src/shared/errors.ts'
import { ContextOverflowError, type ModelClient, type ModelRequest } from '../../src/shared/ports/model.ts'
import type { SurfaceSnapshot } from '../../src/shared/ports/store.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import {
  type ContentBlock,
  isText,
  isToolResult,
  type Message,
  text,
} from '../../src/shared/session/content.ts'
import type { EventType, NewEvent, SessionEvent } from '../../src/shared/session/events.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { priceContent } from '../../src/shared/tokens/price.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { type ScriptedAnswer, scriptedModel } from '../../src/worker/index.ts'
import type { AnyStart } from './any-start.ts'
import { eventually } from './eventually.ts'
import { Gate } from './gate.ts'
import { type HookedStore, hookedStore } from './hooked-store.ts'
import { openRealSessions, type RealSessions } from './real-sessions.ts'

// The stage of the acceptance tests: real workflows, activities and store; the model says what the prompt asks for.

export const SUMMARY = 'Words were said and read. Next: nothing.'
/** One token each. */
const WORDS = 900

export interface Acceptance extends RealSessions {
  readonly hooks: HookedStore
  readonly model: ModelClient
  /** Where `sessions.db` lies. */
  readonly databaseFolder: string
  /** Every request that the model got, in order; each is valid, or the test fails at once. */
  readonly requests: ModelRequest[]
  requestsOf(session: Session, purpose: ModelRequest['purpose']): ModelRequest[]
  /** From now on this answers the session's requests for a summary. */
  summarize(session: Session, answer: ScriptedAnswer): void
  /** Holds the session's summaries until the gate opens. */
  holdSummaries(session: Session): Gate
  /** The provider refuses the session's next request of a turn as too long. */
  refuseOnce(session: Session): void
  /** Holds the session's replies. */
  holdReplies(session: Session): Gate
  /** A session with three imported exchanges of many words, and one turn of its own (number 1) with as many. */
  spoken(options?: Partial<AnyStart>): Promise<Session>
  /** One turn, to its end. */
  talk(session: Session, prompt?: string): Promise<TurnResult>
  /** Appends messages that belong to no turn, as the session's owner. */
  append(session: Session, ...events: readonly NewEvent[]): Promise<void>
  ofType<T extends EventType>(session: Session, type: T): Promise<SessionEvent<T>[]>
  surface(session: Session): Promise<SurfaceSnapshot>
}

/** `Talk.`: many words. `Read.`: one call of the tool `words`, then `Done.`. `Read both.`: two calls. Anything else: `Done.` */
function answerTo({ messages, index }: ModelRequest): string | { content: ContentBlock[] } {
  const last = messages.at(-1)?.content ?? []
  if (last.some(isToolResult)) return 'Done.'
  const asked = last.filter(isText).at(-1)?.text
  const call = (n: number) => ({ type: 'tool_use', id: `c${index}_${n}`, name: 'words', input: { n } })
  if (asked === 'Read.') return { content: [call(0)] }
  if (asked === 'Read both.') return { content: [text('Both.'), call(0), call(1)] }
  return asked === 'Talk.' ? 'word '.repeat(WORDS) : 'Done.'
}

const words: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => 'read '.repeat(WORDS),
}

/** The window of a model is its name: `scripted/100000`. One that ends in `-blind` takes no media. */
export async function openAcceptance(): Promise<Acceptance> {
  const folder = mkdtempSync(join(tmpdir(), 'dc-accept-'))
  const hooks = hookedStore(sqliteStore({ path: join(folder, 'sessions.db') }))
  const requests: ModelRequest[] = []
  const summaries = new Map<string, ScriptedAnswer>()
  const replies = new Map<string, Gate>()
  const refused = new Set<string>()
  const model = acceptanceModel({ requests, summaries, replies, refused })
  const real = await openRealSessions({ scripted: model }, [words], { store: hooks.store })
  const start: RealSessions['start'] = (options) => real.start({ model: 'scripted/100000', ...options })
  const append: Acceptance['append'] = async (session, ...events) => {
    const { owner: actor } = (await real.store.session(session.id)) ?? assert.fail('no such session')
    await real.store.append({ sessionId: session.id, actor, turn: null, events })
  }
  const talk: Acceptance['talk'] = async (session, prompt = 'Talk.') => {
    const result = await (await session.prompt(prompt)).result({ timeoutMs: 120_000 })
    assert.equal(result.reason, 'completed')
    return result
  }
  return {
    ...real,
    start,
    hooks,
    model,
    databaseFolder: folder,
    requests,
    requestsOf: ({ id }, purpose) =>
      requests.filter((request) => request.sessionId === id && request.purpose === purpose),
    summarize: ({ id }, answer) => void summaries.set(id, answer),
    holdSummaries({ id }) {
      const gate = new Gate()
      summaries.set(id, async (_request, { signal }) => {
        const aborted = new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        )
        await Promise.race([gate.wait(), aborted])
        return SUMMARY
      })
      return gate
    },
    refuseOnce: ({ id }) => void refused.add(id),
    holdReplies({ id }) {
      const gate = new Gate()
      replies.set(id, gate)
      return gate
    },
    async spoken(options = {}) {
      const session = await start(options)
      await append(
        session,
        ...[0, 1, 2].flatMap((n) => [said(`import.${n}`, `Part ${n}.`, 'import'), replied(n)]),
      )
      await talk(session)
      return session
    },
    talk,
    append,
    async ofType(session, type) {
      const events = await real.log(session)
      return events.filter((event) => event.type === type) as SessionEvent<typeof type>[]
    },
    surface: ({ id }) => real.store.surface(id),
    async close() {
      await real.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

interface Stage {
  readonly requests: ModelRequest[]
  readonly summaries: ReadonlyMap<string, ScriptedAnswer>
  readonly replies: ReadonlyMap<string, Gate>
  readonly refused: Set<string>
}

function acceptanceModel({ requests, summaries, replies, refused }: Stage): ModelClient {
  const capacityOf = (name: string) => ({
    contextWindow: Number.parseInt(name, 10),
    maxOutputTokens: 4_000,
    acceptsMedia: !name.endsWith('-blind'),
  })
  const answer: ScriptedAnswer = async (request) => {
    await replies.get(request.sessionId)?.wait()
    return answerTo(request)
  }
  const clientOf = (name: string) =>
    scriptedModel(answer, {
      capacity: capacityOf(name),
      summaries: (request, context) => summaries.get(request.sessionId)?.(request, context) ?? SUMMARY,
    })
  return {
    ...clientOf('100000'),
    capacity: async (name) => capacityOf(name),
    async generate(request, context) {
      requests.push(structuredClone(request))
      assert.deepEqual(requestProblems(request.messages), [])
      if (request.purpose === 'turn' && refused.delete(request.sessionId))
        throw new ContextOverflowError('prompt is too long')
      return clientOf(request.model).generate(request, context)
    },
  }
}

/** A message of no turn, as an import or another part of the system writes it. */
export function said(
  key: string,
  words: string,
  source: 'import' | 'notice' | 'context' = 'notice',
): NewEvent {
  const content = [text(words)]
  return {
    key,
    type: 'user/message',
    turn: null,
    step: null,
    data: { content, source },
    tokens: priceContent(content),
    surfaceOp: 'append',
  }
}

/** An imported answer of many words. */
export function replied(
  n: number,
  words = WORDS,
  content: ContentBlock[] = [text(`${n} ${'word '.repeat(words)}`)],
): NewEvent {
  return {
    key: `import.${n}.reply`,
    type: 'assistant/message',
    turn: null,
    step: null,
    data: { content, usage: null, stopReason: 'end_turn', provider: 'import', model: 'import' },
    tokens: priceContent(content),
    surfaceOp: 'append',
  }
}

/** The gate's holder, or the failure of what was to come to it. */
export const reached = (gate: Gate, running: Promise<unknown>): Promise<void> =>
  Promise.race([
    gate.reached,
    running.then(
      (value) => assert.fail(`it ended before the gate: ${JSON.stringify(value)}`),
      (error) => Promise.reject(error),
    ),
  ])

export const failsWith = (running: Promise<unknown>, code: CompactionErrorCode, ...patterns: RegExp[]) =>
  assert.rejects(running, (error: unknown) => {
    assert.ok(error instanceof ManualCompactionError, String(error))
    assert.equal(error.code, code, error.message)
    for (const pattern of patterns) assert.match(error.message, pattern)
    return true
  })

/** The workflow has caught up with its store. */
export const whenIdle = (session: Session) =>
  eventually(
    () => session.state(),
    ({ status }) => status === 'idle',
  )

export const allText = (messages: readonly Message[]): string => JSON.stringify(messages)

export const times = (whole: string, part: string): number => whole.split(part).length - 1
