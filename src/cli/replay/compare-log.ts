import type { ReplayPlan } from '../../formats/replay-plan.ts'
import type { SessionStore } from '../../shared/ports/store.ts'
import { canonicalJson } from '../../shared/session/canonical-json.ts'
import type { ContentBlock } from '../../shared/session/content.ts'
import type { SessionEvent } from '../../shared/session/events.ts'
import { readLog } from '../read-log.ts'

export interface LogComparison {
  readonly events: number
  readonly compactions: number
  readonly brackets: { readonly opened: number; readonly closedOnce: number }
  /** What the log does not give back as it was recorded, one sentence each. */
  readonly problems: readonly string[]
}

/** Holds the log of a replayed session against the plan: every prompt, reply and result is there once, byte for byte, in order. */
export async function compareLog(
  store: SessionStore,
  sessionId: string,
  plan: ReplayPlan,
): Promise<LogComparison> {
  const events = await readLog(store, sessionId)
  const originals = events.filter((event) => typeof event.surfaceOp !== 'object')
  const said = originals.flatMap((event) =>
    event.type === 'user/message' && event.data.source !== 'notice' ? [event.data.content] : [],
  )
  const replied = originals.flatMap((event) =>
    event.type === 'assistant/message' ? [event.data.content] : [],
  )
  return {
    events: events.length,
    compactions: events.filter((event) => event.type === 'compact/summary').length,
    brackets: bracketsOf(events),
    problems: [
      ...listProblems(
        'prompt',
        said,
        plan.prompts.map((prompt) => prompt.message.content),
      ),
      ...listProblems(
        'reply',
        replied,
        plan.replies.map((reply) => reply.content),
      ),
      ...resultProblems(originals, plan),
    ],
  }
}

function bracketsOf(events: readonly SessionEvent[]): LogComparison['brackets'] {
  const opened = events.flatMap((event) => (event.type === 'compact/start' ? [event.data.compactionId] : []))
  const ends = events.flatMap((event) => (event.type === 'compact/end' ? [event.data.compactionId] : []))
  return {
    opened: opened.length,
    closedOnce: opened.filter((id) => ends.filter((end) => end === id).length === 1).length,
  }
}

function listProblems(
  what: string,
  found: readonly (readonly ContentBlock[])[],
  recorded: readonly (readonly ContentBlock[])[],
): string[] {
  const problems =
    found.length === recorded.length
      ? []
      : [`the log holds ${found.length} of what are ${recorded.length} of kind ${what}`]
  const differing = recorded.findIndex(
    (content, index) => canonicalJson(content) !== canonicalJson(found[index] ?? null),
  )
  return differing === -1 ? problems : [...problems, `${what} ${differing} is not as recorded`]
}

function resultProblems(originals: readonly SessionEvent[], plan: ReplayPlan): string[] {
  const whole = new Map<string, readonly ContentBlock[]>()
  for (const event of originals) {
    if (event.type === 'tool/result' && event.data.full === undefined)
      whole.set(event.data.callId, event.data.content)
    if (event.type === 'tool/output') whole.set(event.data.callId, event.data.content)
  }
  return [...plan.results].flatMap(([callId, { content }]) => {
    const found = whole.get(callId)
    if (found === undefined) return [`the result of call ${callId} is not in the log`]
    return isSameResult(found, content) ? [] : [`the result of call ${callId} is not as recorded`]
  })
}

/** An empty result is written as a sentence that says so, since the API takes no empty block. */
function isSameResult(found: readonly ContentBlock[], recorded: readonly ContentBlock[]): boolean {
  const kept = recorded.filter((block) => block.type !== 'text' || block['text'] !== '')
  return kept.length === 0 ? found.length === 1 : canonicalJson(found) === canonicalJson(kept)
}
