import { planCheckpoint } from '../../shared/compaction/checkpoint.ts'
import { PIN_LIMIT_TOKENS, pinLimit, pinTokens } from '../../shared/compaction/checkpoint-budget.ts'
import { isCheckpointNode } from '../../shared/compaction/checkpoint-node.ts'
import { standingPinTokens } from '../../shared/compaction/pins.ts'
import type { ResolvedPolicy } from '../../shared/compaction/policy-schema.ts'
import { readPinEvents } from '../../shared/compaction/read-checkpoint-source.ts'
import type { ControlRequest } from '../../shared/control-protocol.ts'
import { SessionError } from '../../shared/errors.ts'
import type { SessionRow } from '../../shared/ports/store.ts'
import { isText } from '../../shared/session/content.ts'
import { keys } from '../../shared/session/keys.ts'
import { countTokens } from '../../shared/tokens/counter.ts'
import { checkpointSource } from '../checkpoint-source.ts'
import type { ActivityDeps } from '../deps.ts'
import type { Decided } from './serve-controls.ts'

type Pin = Extract<ControlRequest, { kind: 'pin' }>
type Unpin = Extract<ControlRequest, { kind: 'unpin' }>

/** Ids of pins that nobody asked for by request: of the policy, of tags, of tools. */
const OWN_IDS = /^(?:policy\.\d+|keep\.\d+\.\d+|tool\.\d+)$/
/** So many ids are named in an error. */
const NAMED_IDS = 20

/**
 * A pin stands with its text in the log, also one by seq: the message may be shortened or leave the surface before the next checkpoint. Refused when the
 * texts of the policy and of people would no longer fit together, since a checkpoint would have to leave one out.
 */
export async function pinned(
  deps: ActivityDeps,
  { sessionId, head, header }: SessionRow,
  requestId: string,
  { text, seq }: Pin,
): Promise<Decided> {
  if (OWN_IDS.test(requestId))
    throw invalid(
      `pin: the id ${JSON.stringify(requestId)} is of a form that the session gives to pins itself: use another requestId`,
    )
  const pin =
    seq === undefined ? { text: text ?? '' } : { text: await messageText(deps, sessionId, seq), seq }
  if (pin.text.trim() === '') throw invalid('pin: a blank text pins nothing')
  const others = await standingTokens(deps, sessionId, header.policy, pin.text)
  const tokens = countTokens(pin.text)
  const limit = pinLimit(header.policy)
  if (others + pinTokens(pin.text, countTokens) > limit) {
    const rest = others === 0 ? '' : ` and the other pins have ${others}`
    throw invalid(
      `pin: the text has ${tokens} tokens${rest}, allowed are ${limit} together${halfOf(limit)}: shorten it, or unpin another`,
    )
  }
  return {
    event: {
      key: keys.pin(requestId),
      type: 'session/pin',
      turn: null,
      step: null,
      data: { id: requestId, ...pin },
      tokens: 0,
    },
    head,
    outcome: { id: requestId, tokens },
  }
}

/** Tokens of the policy's texts and of people's pins, each text once, but for `except`. */
export async function standingTokens(
  { store }: ActivityDeps,
  sessionId: string,
  policy: ResolvedPolicy,
  except?: string,
): Promise<number> {
  const events = await readPinEvents(store, sessionId)
  return standingPinTokens({ policy, events, countTokens }, except)
}

/** Why the limit is lower than usual. */
export const halfOf = (limit: number): string =>
  limit < PIN_LIMIT_TOKENS ? ' (half of a checkpoint, which follows the pressure limit)' : ''

async function messageText({ store }: ActivityDeps, sessionId: string, seq: number): Promise<string> {
  const [event] = await store.events(sessionId, { after: seq - 1, limit: 1 })
  if (event?.seq !== seq) throw invalid(`pin: event #${seq} is not in the log`)
  const isMessage =
    event.type === 'user/message' || event.type === 'assistant/message' || event.type === 'tool/result'
  if (!isMessage) throw invalid(`pin: event #${seq} is ${event.type}, only messages can be pinned`)
  if (isCheckpointNode(event))
    throw invalid(`pin: event #${seq} is a checkpoint: pin the part of it that must stay as a text`)
  const texts = event.data.content.filter(isText).map((block) => block.text)
  if (texts.length === 0) throw invalid(`pin: event #${seq} has no text`)
  return texts.join('\n')
}

/** Takes back what a person pinned, by signal or by `<keep>` in a prompt. */
export async function unpinned(
  deps: ActivityDeps,
  session: SessionRow,
  requestId: string,
  { id }: Unpin,
): Promise<Decided> {
  const surface = await deps.store.surface(session.sessionId)
  const source = await checkpointSource(deps, session, surface.nodes)
  const { pins, left } = planCheckpoint(source).pins
  const known = [...pins, ...left].filter(({ source: by }) => by === 'session' || by === 'keep')
  if (known.every((pin) => pin.id !== id)) {
    const more = known.length > NAMED_IDS ? ` and ${known.length - NAMED_IDS} more` : ''
    const ids =
      known
        .slice(0, NAMED_IDS)
        .map((pin) => pin.id)
        .join(', ') || 'none'
    throw invalid(
      `unpin: no pin has the id ${JSON.stringify(id)}, the ids are ${ids}${more}; pins of the policy are changed by configure`,
    )
  }
  return {
    event: {
      key: keys.unpin(requestId),
      type: 'session/unpin',
      turn: null,
      step: null,
      data: { id },
      tokens: 0,
    },
    head: session.head,
    outcome: { id },
  }
}

const invalid = (problem: string) => new SessionError('InvalidInput', `${problem}.`)
