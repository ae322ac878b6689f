import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readLog } from '../src/cli/read-log.ts'
import { compareLog } from '../src/cli/replay/compare-log.ts'
import { readTranscript } from '../src/formats/read-transcript.ts'
import { planReplay } from '../src/formats/replay-plan.ts'
import type { SessionStore } from '../src/shared/ports/store.ts'
import { isText, isToolUse } from '../src/shared/session/content.ts'
import type { SessionEvent } from '../src/shared/session/events.ts'
import { explored, type Stage } from './cast.ts'

export interface Check {
  readonly what: string
  readonly found: string
  readonly holds: boolean
}

/** What the demo holds its session against, from the log, the files and the record of what was paid. */
export async function checkSession(stage: Stage, store: SessionStore, sessionId: string): Promise<Check[]> {
  const events = await readLog(store, sessionId)
  const starts = events.flatMap((event) => (event.type === 'compact/start' ? [event.data.compactionId] : []))
  const ends = events.flatMap((event) => (event.type === 'compact/end' ? [event.data.compactionId] : []))
  const closedOnce = starts.every((id) => ends.filter((end) => end === id).length === 1)
  const lost =
    stage.transcript === undefined
      ? await lostOfExploration(stage, events)
      : await lostOfReplay(stage.transcript, store, sessionId)
  const again = paidAgain(stage, events)
  return [
    {
      what: 'brackets opened = closed',
      found: `${starts.length} = ${ends.length}`,
      // A transcript of the user's own may be too short for a compaction.
      holds:
        (starts.length > 0 || stage.transcript !== undefined) && starts.length === ends.length && closedOnce,
    },
    {
      what: 'messages lost',
      found: lost.length === 0 ? '0' : `${lost.length}: ${lost[0]}`,
      holds: lost.length === 0,
    },
    { what: 'stored calls paid again', found: String(again), holds: again === 0 },
  ]
}

/** Every file that the model asked for stands in the log as it is on the disk, in order; and every prompt once. */
async function lostOfExploration({ root }: Stage, events: readonly SessionEvent[]): Promise<string[]> {
  const lost: string[] = []
  const files = await explored(root)
  const replies = events.filter((event) => event.type === 'assistant/message')
  const prompts = events.filter((event) => event.type === 'user/message' && event.data.source === 'prompt')
  if (prompts.length !== 1) lost.push(`${prompts.length} prompts are in the log, sent was 1`)
  for (const [index, reply] of replies.entries()) {
    const call = reply.data.content.find(isToolUse)
    if (call === undefined || call.name !== 'read_file') continue
    const file = files[index - 1] ?? ''
    if (wholeText(events, call.id) !== readFileSync(join(root, file), 'utf8'))
      lost.push(`${file} is not in the log as it is on the disk`)
  }
  return lost
}

function wholeText(events: readonly SessionEvent[], callId: string): string {
  const output = events.find((event) => event.type === 'tool/output' && event.data.callId === callId)
  const result = events.find((event) => event.type === 'tool/result' && event.data.callId === callId)
  const whole = output ?? result
  if (whole?.type !== 'tool/output' && whole?.type !== 'tool/result') return ''
  return whole.data.content
    .filter(isText)
    .map((block) => block.text)
    .join('')
}

async function lostOfReplay(
  path: string,
  store: SessionStore,
  sessionId: string,
): Promise<readonly string[]> {
  const plan = planReplay(readTranscript(readFileSync(path, 'utf8'), { fileName: path }))
  return (await compareLog(store, sessionId, plan)).problems
}

/** Answers that were given beyond those that the log holds: each call stands there once, whoever asked again. */
function paidAgain({ paidPath }: Stage, events: readonly SessionEvent[]): number {
  const answers = readFileSync(paidPath, 'utf8')
    .split('\n')
    .filter((line) => line !== '').length
  const stored = events.filter(
    (event) => event.type === 'assistant/message' || event.type === 'compact/call',
  ).length
  return answers - stored
}
