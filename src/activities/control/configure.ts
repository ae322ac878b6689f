import { setTimeout as sleep } from 'node:timers/promises'
import { pinLimit } from '../../shared/compaction/checkpoint-budget.ts'
import type { ConfigureRequest } from '../../shared/control-protocol.ts'
import { isSessionError, SessionError } from '../../shared/errors.ts'
import type { SessionRow } from '../../shared/ports/store.ts'
import { canonicalJson } from '../../shared/session/canonical-json.ts'
import type { Header } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import { changedSettings, type Settings, settingsOf } from '../../shared/session/settings.ts'
import type { ActivityDeps } from '../deps.ts'
import { resolveHeader } from '../resolve-header.ts'
import { halfOf, standingTokens } from './pins.ts'
import type { Decided } from './serve-controls.ts'

/** A new header, from what was asked for at the start and what this request changes of it: checked as a start is, since a new window moves every limit. */
export async function configured(
  deps: ActivityDeps,
  { sessionId, head, header: current, headerSeq }: SessionRow,
  requestId: string,
  request: ConfigureRequest,
): Promise<Decided> {
  const header = await resolved(deps, changedSettings(settingsOf(current), request))
  const standing = await standingTokens(deps, sessionId, header.policy)
  const limit = pinLimit(header.policy)
  if (standing > limit) {
    throw new SessionError(
      'InvalidPolicy',
      `policy.pins.texts and the pins of people have ${standing} tokens together, allowed are ${limit}${halfOf(limit)}: shorten them, or unpin some.`,
    )
  }
  if (canonicalJson(header) === canonicalJson(current))
    return { event: null, head, outcome: { seq: headerSeq, changed: false } }
  return {
    event: {
      key: keys.configured(requestId),
      type: 'request/header',
      turn: null,
      step: null,
      data: header,
      tokens: 0,
    },
    head,
    outcome: { changed: true },
  }
}

/** A model's client may ask its provider for the window; the session does not wait longer for it. */
const ASK_MS = 10_000

async function resolved(deps: ActivityDeps, start: Settings): Promise<Header> {
  const late = new AbortController()
  const tooLate = async (): Promise<never> => {
    await sleep(ASK_MS, undefined, { signal: late.signal })
    throw new Error(`no answer within ${ASK_MS / 1000} s`)
  }
  try {
    return await Promise.race([resolveHeader(deps, start), tooLate()])
  } catch (error) {
    if (isSessionError(error)) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new SessionError(
      'ModelFailed',
      `configure: the window of ${start.model} could not be asked for (${why}): ask again with a new request.`,
    )
  } finally {
    late.abort()
  }
}
