import { isText } from '../session/content.ts'
import type { EventData, SessionEvent, SurfaceNode } from '../session/events.ts'
import { wellFormed } from '../session/well-formed.ts'
import { pinLimit, pinTokens } from './checkpoint-budget.ts'
import type { Pin } from './checkpoint-state.ts'
import { splitInjected } from './ledger/injected.ts'
import type { ResolvedPolicy } from './policy-schema.ts'

export interface PinInput {
  readonly policy: Pick<ResolvedPolicy, 'pins' | 'checkpointLimitTokens'>
  /** `session/pin` and `session/unpin` of the whole log, in order. Other events are looked past. */
  readonly events: readonly SessionEvent[]
  /** The nodes that the checkpoint replaces. */
  readonly nodes: readonly SurfaceNode[]
  /** Pins of the checkpoints among these nodes. */
  readonly carried: readonly Pin[]
  readonly countTokens: (text: string) => number
}

export interface Pins {
  /** In the order in which a checkpoint prints them. */
  readonly pins: readonly Pin[]
  /** Those that do not fit `pinLimit`. */
  readonly left: readonly Pin[]
  readonly tokens: number
}

/**
 * The pins of the next checkpoint. Texts of the policy are all taken. The rest shares what they leave of `pinLimit`: what a
 * person pinned, then `<keep>` texts, earlier ones first so that a pin stays pinned, then tool results, newest first. A text stands once.
 */
export function collectPins({ policy, events, nodes, carried, countTokens }: PinInput): Pins {
  const unpinned = unpinnedIds(events)
  const kept = carried.filter((pin) => !unpinned.has(pin.id))
  const of = (source: Pin['source']) => kept.filter((pin) => pin.source === source)
  const optional = [
    ...of('session'),
    ...sessionPins(activePins(events), nodes),
    ...of('keep'),
    ...keepPins(nodes).filter((pin) => !unpinned.has(pin.id)),
    ...toolPins(nodes, policy.pins.tools).reverse(),
    ...of('tool'),
  ]
  const pins: Pin[] = policyPins(policy.pins.texts)
  let tokens = pins.reduce((sum, pin) => sum + pinTokens(pin.text, countTokens), 0)
  const left: Pin[] = []
  for (const pin of unique(optional, pins)) {
    const cost = pinTokens(pin.text, countTokens)
    if (tokens + cost > pinLimit(policy)) {
      left.push(pin)
      continue
    }
    pins.push(pin)
    tokens += cost
  }
  return { pins, left, tokens }
}

const policyPins = (texts: readonly string[]): Pin[] =>
  texts.map((value, index) => ({ id: `policy.${index}`, source: 'policy' as const, text: wellFormed(value) }))

function unique(pins: readonly Pin[], taken: readonly Pin[]): Pin[] {
  const texts = new Set(taken.map((pin) => pin.text))
  const ids = new Set<string>()
  return pins.filter((pin) => {
    const isNew = !texts.has(pin.text) && !ids.has(pin.id) && pin.text.trim() !== ''
    texts.add(pin.text)
    ids.add(pin.id)
    return isNew
  })
}

/** What people pinned and did not take back, in order. */
function activePins(events: readonly SessionEvent[]): EventData<'session/pin'>[] {
  const unpinned = unpinnedIds(events)
  return events.flatMap((event) =>
    event.type === 'session/pin' && !unpinned.has(event.data.id) ? [event.data] : [],
  )
}

/** Tokens of what stands in every checkpoint, the policy's texts and people's, each text once, but for `except`. */
export function standingPinTokens(
  { policy, events, countTokens }: Pick<PinInput, 'policy' | 'events' | 'countTokens'>,
  except?: string,
): number {
  const texts = new Set([...policy.pins.texts, ...activePins(events).map(({ text = '' }) => text)])
  return [...texts].reduce((sum, pinned) => sum + (pinned === except ? 0 : pinTokens(pinned, countTokens)), 0)
}

const unpinnedIds = (events: readonly SessionEvent[]): ReadonlySet<string> =>
  new Set(events.flatMap((event) => (event.type === 'session/unpin' ? [event.data.id] : [])))

/** Pins by event; one that names an event and has no text of its own pins that node's text. */
function sessionPins(pinned: readonly EventData<'session/pin'>[], nodes: readonly SurfaceNode[]): Pin[] {
  const bySeq = new Map(nodes.map((node) => [node.seq, node]))
  return pinned.map(({ id, text, seq }) => {
    const node = seq === undefined ? undefined : bySeq.get(seq)
    const words = text ?? (node === undefined ? '' : textOf(node))
    return { id, source: 'session', text: wellFormed(words), ...(seq === undefined ? {} : { seq }) }
  })
}

const USER_SOURCES: ReadonlySet<string> = new Set(['prompt', 'import'])

/** `<keep>…</keep>` in the user's own words; never in what a tool or a program wrote. */
function keepPins(nodes: readonly SurfaceNode[]): Pin[] {
  return nodes.flatMap((node) => {
    if (node.type !== 'user/message' || !USER_SOURCES.has(node.data.source)) return []
    const texts = node.data.content
      .filter(isText)
      .flatMap((block) => keptTexts(splitInjected(block.text).own))
    return texts.map((value, index) => ({
      id: `keep.${node.seq}.${index}`,
      source: 'keep' as const,
      seq: node.seq,
      text: wellFormed(value),
    }))
  })
}

const OPEN = '<keep>'
const CLOSE = '</keep>'

/** What stands between `<keep>` and the next `</keep>`, in order. Linear. */
function keptTexts(value: string): string[] {
  const kept: string[] = []
  for (let open = value.indexOf(OPEN); open >= 0; open = value.indexOf(OPEN, open + OPEN.length)) {
    const close = value.indexOf(CLOSE, open)
    if (close < 0) break
    kept.push(value.slice(open + OPEN.length, close))
    open = close
  }
  return kept
}

/** The text with `[pinned]` in place of each `<keep>` whose text is among the pins. */
export function withoutKept(value: string, pinned: ReadonlySet<string>): string {
  return keptTexts(value).reduce(
    (rest, kept) =>
      pinned.has(wellFormed(kept)) ? rest.replace(`${OPEN}${kept}${CLOSE}`, () => '[pinned]') : rest,
    value,
  )
}

function toolPins(nodes: readonly SurfaceNode[], tools: readonly string[]): Pin[] {
  return nodes.flatMap((node) => {
    if (node.type !== 'tool/result' || node.data.isError || !tools.includes(node.data.name)) return []
    return [
      {
        id: `tool.${node.seq}`,
        source: 'tool' as const,
        seq: node.seq,
        tool: node.data.name,
        text: wellFormed(textOf(node)),
      },
    ]
  })
}

const textOf = (node: SurfaceNode): string =>
  node.data.content
    .filter(isText)
    .map((block) => block.text)
    .join('\n')
