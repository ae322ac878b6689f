import type { Session } from '../../src/client/index.ts'
import { isCompactCheckpointSource } from '../../src/shared/checkpoint-source.ts'
import type { ModelClient, ModelRequest } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { isText } from '../../src/shared/session/content.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import type { Gate } from './gate.ts'
import { type RealSessions, whenIdle } from './real-sessions.ts'

// Sessions that read as often as a prompt says: `Read 3.` makes three steps with one result each, and an answer.

export const RESULT_WORDS = 900

export const WORDS: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => 'word '.repeat(RESULT_WORDS),
}

const WINDOWS: Readonly<Record<string, number>> = { large: 100_000, small: 16_000, terse: 100_000 }
/** Of a reply; `terse` has a quarter of what the others may say. */
const replyLimit = (name: string): number => (name === 'terse' ? 1_000 : 4_000)

export interface ReadingModel {
  readonly model: ModelClient
  /** Turn requests, by session. */
  readonly requests: Map<string, ModelRequest[]>
  /** Holds the next turn request, or the next summary, of a session. */
  readonly turnGates: Map<string, Gate>
  readonly summaryGates: Map<string, Gate>
}

export function readingModel(): ReadingModel {
  const requests = new Map<string, ModelRequest[]>()
  const turnGates = new Map<string, Gate>()
  const summaryGates = new Map<string, Gate>()
  const scripted = scriptedModel(replyTo, {
    summaries: async ({ sessionId }) => {
      await summaryGates.get(sessionId)?.wait()
      return 'Words were read, one result after the other. Next: nothing is open.'
    },
  })
  return {
    requests,
    turnGates,
    summaryGates,
    model: {
      ...scripted,
      capacity: async (name) => ({ contextWindow: WINDOWS[name] ?? null, maxOutputTokens: replyLimit(name) }),
      async generate(request, context) {
        if (request.purpose === 'turn') {
          requests.set(request.sessionId, [...(requests.get(request.sessionId) ?? []), request])
          const gate = turnGates.get(request.sessionId)
          turnGates.delete(request.sessionId)
          await gate?.wait()
        }
        return scripted.generate(request, context)
      },
    },
  }
}

/** Results since the newest prompt are counted, so that a checkpoint in front changes nothing. */
function replyTo({ messages, index }: ModelRequest) {
  const said = messages.findLastIndex(
    ({ role, content }) =>
      role === 'user' && content.some((block) => isText(block) && /^Read \d+\.$/.test(block.text)),
  )
  const text = messages[said]?.content.find((block) => isText(block) && /^Read/.test(block.text))
  const wanted = text !== undefined && isText(text) ? Number(/\d+/.exec(text.text)?.[0]) : 0
  const results = messages
    .slice(said + 1)
    .flatMap(({ content }) => content.filter((b) => b.type === 'tool_result'))
  if (said < 0 || results.length >= wanted) return 'Done.'
  return { content: [{ type: 'tool_use', id: `call_${index}`, name: 'words', input: {} }] }
}

export async function read(session: Session, count: number): Promise<void> {
  await (await session.prompt(`Read ${count}.`)).result({ timeoutMs: 120_000 })
  await whenIdle(session) // A workflow behind its store answers busy, and the client asks again under another id.
}

/** Text of the checkpoints of the log, oldest first. */
export async function checkpoints(real: RealSessions, session: Session): Promise<string[]> {
  return (await real.log(session)).flatMap((event) =>
    event.type === 'user/message' && isCompactCheckpointSource(event.data.source)
      ? [
          event.data.content
            .filter(isText)
            .map((block) => block.text)
            .join('\n'),
        ]
      : [],
  )
}
