import { type ContentBlock, isText, text } from '../session/content.ts'
import type { Lost, SessionEvent, SurfaceNode } from '../session/events.ts'
import { keys } from '../session/keys.ts'
import { wellFormed } from '../session/well-formed.ts'
import { mergeStates, type PlacedState } from './carried-state.ts'
import { type CheckpointBudget, checkpointBudget } from './checkpoint-budget.ts'
import { ledgerMessages } from './checkpoint-messages.ts'
import { isCheckpointNode } from './checkpoint-node.ts'
import type { CheckpointState } from './checkpoint-state.ts'
import { renderFrame, renderPins } from './checkpoint-text.ts'
import { budgetWithoutSummary } from './ledger/budget.ts'
import { buildLedger } from './ledger/build-ledger.ts'
import { joinSections } from './ledger/checkpoint-body.ts'
import { clip, withCutMark } from './ledger/clip.ts'
import type { LedgerBudget } from './ledger/types.ts'
import { lostBy } from './lost.ts'
import { collectPins, type Pins } from './pins.ts'
import { coversOf, renderPointer } from './pointer.ts'
import type { ResolvedPolicy } from './policy-schema.ts'
import { underHeading } from './quoting.ts'

export interface CheckpointSource {
  /** The nodes that the checkpoint replaces, in surface order. */
  readonly nodes: readonly SurfaceNode[]
  /** The summaries behind the checkpoints among these nodes, in any order. */
  readonly previous: readonly SessionEvent<'compact/summary'>[]
  /** `session/pin` and `session/unpin` of the whole log, in order. */
  readonly pinEvents: readonly SessionEvent[]
  readonly policy: ResolvedPolicy
  readonly countTokens: (text: string) => number
  /** Where the replaced messages lie as a file. */
  readonly archivePath?: string
  /** Whether the model can read back what the checkpoint replaces. Default false. */
  readonly historyTool?: boolean
  /** Paths below it are written relative to it. */
  readonly workingDirectory?: string
}

export interface CheckpointInput extends CheckpointSource {
  /** The nodes that stay behind the checkpoint: what stands there is not repeated. */
  readonly tail: readonly SurfaceNode[]
  /** The model's text; null: code writes the whole checkpoint. */
  readonly summary: readonly ContentBlock[] | null
  /** One line on why the checkpoint stands here. */
  readonly notice?: string
}

export interface Checkpoint {
  readonly content: readonly ContentBlock[]
  /** What the next checkpoint starts from. */
  readonly ledger: CheckpointState
  readonly lost: Lost
  /** Tokens of the content, by our counter. */
  readonly tokens: number
}

/**
 * The message that takes a span's place: frame, pins, the user's words, plan and open errors, summary, lists, pointer. Code writes
 * all of it but the summary; earlier checkpoints in the span are merged by their carried state and never quoted.
 *
 * Within `policy.checkpointLimitTokens`, and smaller than the span, as long as the pins leave room. Pure; linear in the characters of span
 * and tail.
 *
 * @throws Error when a pin is missing from the result, which is a defect
 */
export function buildCheckpoint(input: CheckpointInput): Checkpoint {
  const { nodes, policy, countTokens, workingDirectory } = input
  const { pins, budget, states } = planCheckpoint(input)
  const covers = coversOf(
    nodes,
    (node) => states.find(({ position }) => nodes[position] === node)?.state.covers,
  )
  const summary = summaryOf(input.summary, budget.summaryLimitTokens, countTokens)
  const previous = mergeStates(states)
  const ledger = buildLedger({
    span: ledgerMessages(nodes, pins.pins),
    tail: ledgerMessages(input.tail, []),
    budget: ledgerBudget(budget, summary, input, previous?.earlierSummary !== undefined),
    count: countTokens,
    workingDirectory,
    previous,
  })
  const sections = [
    renderFrame(covers, {
      prefix: policy.framePrefix,
      ...(input.notice === undefined ? {} : { notice: input.notice }),
    }),
    renderPins(pins.pins, pins.left),
    joinSections(ledger, underHeading(summary ?? '')),
    renderPointer(covers, input),
  ]
  const page = wellFormed(sections.filter((section) => section !== '').join('\n'))
  assertPinned(page, pins)
  return {
    content: [text(page)],
    ledger: {
      ...ledger.state,
      // A model's summary waits here for a next checkpoint that has no model.
      ...(summary === null ? {} : { earlierSummary: summary }),
      pins: pins.pins.filter((pin) => pin.source !== 'policy'),
      covers,
    },
    lost: lostBy({ nodes, ledger, page, pinsLeft: pins.left.length, workingDirectory }),
    tokens: countTokens(page),
  }
}

export interface CheckpointPlan {
  readonly pins: Pins
  /** The summary's length, in prompt and gate, is part of it. */
  readonly budget: CheckpointBudget
  readonly states: readonly PlacedState[]
}

/** Frame, pointer and joints, rounded up. */
const FRAME_TOKENS = 250
/** A checkpoint is smaller than its span; of a short one, summary and lists together take less than half. */
const MOST_OF_SPAN = 0.9
const PARTS_OF_SPAN = 0.4

/** Pins and budget of the next checkpoint, before anything is summarized. */
export function planCheckpoint(source: CheckpointSource): CheckpointPlan {
  const { nodes, previous, policy, pinEvents, countTokens, archivePath = '' } = source
  const states = placedStates(nodes, previous)
  const carried = states.flatMap(({ state }) => state.pins)
  const pins = collectPins({ policy, events: pinEvents, nodes, carried, countTokens })
  const fixedTokens =
    countTokens(renderPins(pins.pins, pins.left)) +
    countTokens(policy.framePrefix) +
    countTokens(archivePath) +
    FRAME_TOKENS
  const spanTokens = tokensOf(nodes)
  const limits = {
    ...policy,
    checkpointTokens: Math.min(policy.checkpointTokens, Math.floor(spanTokens * PARTS_OF_SPAN)),
    checkpointLimitTokens: Math.min(policy.checkpointLimitTokens, Math.floor(spanTokens * MOST_OF_SPAN)),
  }
  return { pins, states, budget: checkpointBudget(limits, fixedTokens) }
}

const tokensOf = (nodes: readonly SurfaceNode[]): number => nodes.reduce((sum, node) => sum + node.tokens, 0)

function placedStates(nodes: readonly SurfaceNode[], previous: CheckpointSource['previous']): PlacedState[] {
  const byKey = new Map(previous.map(({ data }) => [keys.compactCheckpoint(data.compactionId), data.ledger]))
  return nodes.flatMap((node, position) => {
    const state = isCheckpointNode(node) ? byKey.get(node.key) : undefined
    return state === undefined ? [] : [{ position, state }]
  })
}

/** The summary's text, cut when a summarizer of somebody's own wrote more than was allowed. */
function summaryOf(
  blocks: CheckpointInput['summary'],
  limitTokens: number,
  count: (text: string) => number,
): string | null {
  if (blocks === null) return null
  const written = blocks.filter(isText).map((block) => block.text)
  const summary = wellFormed(written.join('\n')).trim()
  return summary === '' ? null : withCutMark(clip({ text: summary }, limitTokens, count))
}

/** What a short summary leaves goes to the lists; without one, code shares out all of it. */
function ledgerBudget(
  budget: CheckpointBudget,
  summary: string | null,
  { nodes, countTokens }: CheckpointInput,
  earlierSummary: boolean,
): LedgerBudget {
  const { userTextTokens, stateTokens, listTokens, summaryLimitTokens } = budget
  if (summary === null) {
    const checkpointTokens = listTokens + stateTokens + summaryLimitTokens
    return budgetWithoutSummary({
      checkpointTokens,
      userTextTokens,
      spanTokens: tokensOf(nodes),
      earlierSummary,
    })
  }
  return {
    listTokens: listTokens + Math.max(0, summaryLimitTokens - countTokens(summary)),
    userTokens: userTextTokens,
    userStartTokens: Math.floor(userTextTokens / 4),
    planTokens: Math.floor(stateTokens / 2),
    errorTokens: Math.floor(stateTokens / 2),
    assistantTokens: 0,
    userSharesTotal: false,
  }
}

function assertPinned(page: string, { pins }: Pins): void {
  const missing = pins.find((pin) => !page.includes(pin.text))
  if (missing !== undefined)
    throw new Error(`Pin ${missing.id} is missing from the checkpoint: nothing is committed.`)
}
