import type { ErrorName } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import type { CarriedState, PromptMessage } from '../shared/protocol.ts'
import { promptProblem, utf8Bytes } from '../shared/session/prompt-content.ts'
import { fingerprintOf } from './message-ids.ts'

// Prompts that were accepted and have not begun. Pure.

/** Why a message is not taken: the error's name, and one sentence for the sender. */
export interface Refusal {
  readonly error: ErrorName
  readonly why: string
}

type Delivery = NonNullable<PromptMessage['delivery']>
type Content = NonNullable<PromptMessage['content']>
export type NamedPrompt = PromptMessage & { readonly requestId: string }

interface WaitingPrompt {
  readonly requestId: string
  readonly delivery: Delivery
  /** Present while the body is nowhere but here. */
  content?: Content
  /** Of a body that came inline, so that the same id with another body is seen. */
  readonly fingerprint?: number
}

export interface InlinePrompt {
  readonly requestId: string
  readonly delivery: Delivery
  readonly content: Content
}

export class PromptQueue {
  #prompts: WaitingPrompt[]
  /** `no-wake` bodies that this run stored and no turn has taken: they count as waiting, as in the store. */
  #quiet = 0
  /** The prompt of the running turn. */
  #running: Pick<WaitingPrompt, 'requestId' | 'fingerprint'> | null = null

  constructor(carried: CarriedState['prompts'] = []) {
    this.#prompts = [...carried]
  }

  /** Why a prompt cannot be taken, or undefined. Changes nothing. */
  refusal(message: NamedPrompt): Refusal | undefined {
    const { requestId, content } = message
    const problem = content === undefined ? undefined : inlineProblem(content)
    if (problem !== undefined) return { error: 'InvalidInput', why: `prompt: ${problem}` }
    const known = this.#known(requestId)
    if (known !== undefined) return hasOtherContent(known, content) ? conflictOf(requestId) : undefined
    if (isInInboxQuietly(message) || this.size < LIMITS.waitingPrompts) return undefined
    return {
      error: 'QueueFull',
      why: `prompt: ${this.size} wait already, allowed are ${LIMITS.waitingPrompts}: send it again when some have begun`,
    }
  }

  /** Takes a prompt that {@link refusal} allows. */
  add(message: NamedPrompt): 'queued' | 'known' {
    const { requestId, delivery = 'next-turn', content } = message
    if (this.#known(requestId) !== undefined) return 'known'
    if (isInInboxQuietly(message)) return 'queued'
    this.#prompts.push({
      requestId,
      delivery,
      ...(content === undefined ? {} : { content, fingerprint: fingerprintOf(content) }),
    })
    return 'queued'
  }

  has(requestId: string): boolean {
    return this.#prompts.some((prompt) => prompt.requestId === requestId)
  }

  get size(): number {
    return this.#prompts.length + this.#quiet
  }

  get isEmpty(): boolean {
    return this.#prompts.length === 0
  }

  get hasInline(): boolean {
    return this.#prompts.some((prompt) => prompt.content !== undefined)
  }

  /** Bodies to store, oldest first: at least one, if there is any, and together at most `maxBytes`. */
  inline(maxBytes: number): InlinePrompt[] {
    const batch: InlinePrompt[] = []
    let bytes = 0
    for (const { requestId, delivery, content } of this.#prompts) {
      if (content === undefined) continue
      bytes += contentBytes(content)
      if (batch.length > 0 && bytes > maxBytes) break
      batch.push({ requestId, delivery, content })
    }
    return batch
  }

  /** These bodies are in the store now, and a `no-wake` one needs no place here any more. */
  markStored(requestIds: readonly string[]): void {
    const stored = new Set(requestIds)
    this.#prompts = this.#prompts.filter((prompt) => {
      if (!stored.has(prompt.requestId)) return true
      delete prompt.content
      if (prompt.delivery !== 'no-wake') return true
      this.#quiet++
      return false
    })
  }

  /** The next prompt that may begin a turn: its body is stored. */
  get next(): string | undefined {
    return this.#prompts.find((prompt) => prompt.content === undefined)?.requestId
  }

  /** Its turn begins. The quiet ones go with it, in the store. */
  begin(requestId: string): void {
    this.#running = this.#prompts.find((prompt) => prompt.requestId === requestId) ?? { requestId }
    this.drop(requestId)
    this.#quiet = 0
  }

  end(): void {
    this.#running = null
  }

  /** Removes a prompt. @returns whether it was here, and whether its body is in the store */
  drop(requestId: string): 'absent' | 'stored' | 'inline' {
    const prompt = this.#prompts.find((each) => each.requestId === requestId)
    this.#prompts = this.#prompts.filter((each) => each !== prompt)
    if (prompt === undefined) return 'absent'
    return prompt.content === undefined ? 'stored' : 'inline'
  }

  /** Adds what waits in the store and no message of this life named; what the store knows stands first, in its order. */
  adopt(waiting: readonly { readonly requestId: string; readonly delivery: Delivery }[]): void {
    const here = new Map(this.#prompts.map((prompt) => [prompt.requestId, prompt]))
    const known = waiting.map((row): WaitingPrompt => here.get(row.requestId) ?? row)
    for (const { requestId } of waiting) here.delete(requestId)
    this.#prompts = [...known, ...here.values()]
  }

  /** For the next run; the bodies must be stored. */
  carry(): CarriedState['prompts'] {
    return this.#prompts.map(({ requestId, delivery }) => ({ requestId, delivery }))
  }

  #known(requestId: string): Pick<WaitingPrompt, 'fingerprint'> | undefined {
    if (this.#running?.requestId === requestId) return this.#running
    return this.#prompts.find((prompt) => prompt.requestId === requestId)
  }
}

/** As far as it can be seen here: the store compares with every body that it has. */
const hasOtherContent = (
  { fingerprint }: Pick<WaitingPrompt, 'fingerprint'>,
  content: Content | undefined,
): boolean => fingerprint !== undefined && content !== undefined && fingerprint !== fingerprintOf(content)

const conflictOf = (requestId: string): Refusal => ({
  error: 'KeyConflict',
  why: `prompt: ${requestId} was sent with other content: use another requestId`,
})

/** Its body waits in the inbox and it begins no turn: the next one that begins takes it from there. */
const isInInboxQuietly = (message: NamedPrompt): boolean =>
  message.content === undefined && message.delivery === 'no-wake'

function inlineProblem(content: Content): string | undefined {
  const bytes = contentBytes(content)
  if (bytes > LIMITS.inlineBytes)
    return `${bytes} bytes inline, allowed are ${LIMITS.inlineBytes}: use a client that has the store`
  return promptProblem(content)
}

const contentBytes = (content: Content): number =>
  utf8Bytes(typeof content === 'string' ? content : JSON.stringify(content))
