import { type ContentBlock, isToolResult, type ToolResultBlock } from '../shared/session/content.ts'
import type { Usage } from '../shared/session/events.ts'
import { type Answer, type Call, CallRegistry, type CallResult } from './call-registry.ts'
import { cleanBlocks } from './clean-blocks.ts'
import { contentBlocks, type Draft, type DraftMessage, present } from './draft.ts'
import { REPEATED, type RecordAccount } from './record-account.ts'
import type { ReadChange, ReadMessage, ReadReport, RecordedCompaction } from './transcript.ts'

interface Reply {
  readonly kind: 'reply'
  readonly number: number
  readonly first: DraftMessage
  readonly blocks: ContentBlock[]
  readonly lines: number[]
  readonly calls: Call[]
  stopReason: string | undefined
  usage: Usage | undefined
}

type Item =
  | Reply
  | { readonly kind: 'user'; readonly draft: DraftMessage; readonly blocks: readonly ContentBlock[] }
  | {
      readonly kind: 'compaction'
      readonly line: number
      readonly summary?: string
      readonly tokensBefore?: number
    }

export interface Conversation {
  readonly messages: readonly ReadMessage[]
  readonly compactions: readonly RecordedCompaction[]
  readonly unansweredCalls: ReadReport['unansweredCalls']
  readonly changes: readonly ReadChange[]
}

/**
 * Puts drafts together so that an agent session can play them again: records of one group are one reply; its results
 * stand behind it, in the order of its calls; a reply without calls that another reply follows directly is one message
 * with it; call ids are unique. Linear in the number of blocks.
 */
export function buildConversation(drafts: readonly Draft[], account: RecordAccount): Conversation {
  const builder = new ConversationBuilder(account)
  for (const draft of drafts) builder.add(draft)
  return builder.finish()
}

class ConversationBuilder {
  readonly #account: RecordAccount
  readonly #changes: ReadChange[] = []
  readonly #calls = new CallRegistry(this.#changes)
  #items: Item[] = []
  readonly #groups = new Map<string, Reply>()
  #replies = 0

  constructor(account: RecordAccount) {
    this.#account = account
  }

  add(draft: Draft): void {
    if (draft.kind === 'compaction') {
      this.#items.push(draft)
      return
    }
    const blocks = cleanBlocks(draft.blocks, draft.line, this.#changes)
    if (blocks.length === 0) this.#account.leaveOut(draft.line, 'no content that a model can read')
    else if (draft.role === 'assistant') this.#addReply(draft, blocks)
    else this.#addUser(draft, blocks)
  }

  #addReply(draft: DraftMessage, blocks: readonly ContentBlock[]): void {
    const known = draft.group === undefined ? undefined : this.#groups.get(draft.group)
    const reply = known ?? this.#openReply(draft)
    if (known) this.#account.merge(draft.line, 'a further part of one reply')
    else this.#account.take(draft.line)
    reply.lines.push(draft.line)
    reply.stopReason = draft.stopReason ?? reply.stopReason
    reply.usage = draft.usage ?? reply.usage
    for (const block of blocks) {
      if (block.type !== 'tool_use') {
        reply.blocks.push(block)
        continue
      }
      const registered = this.#calls.register(block, draft.line, reply.number)
      reply.blocks.push(registered.block)
      reply.calls.push(registered.call)
    }
  }

  #openReply(first: DraftMessage): Reply {
    const reply: Reply = {
      kind: 'reply',
      number: this.#replies++,
      first,
      blocks: [],
      lines: [],
      calls: [],
      stopReason: undefined,
      usage: undefined,
    }
    this.#items.push(reply)
    if (first.group !== undefined) this.#groups.set(first.group, reply)
    return reply
  }

  #addUser(draft: DraftMessage, blocks: readonly ContentBlock[]): void {
    let taken = false
    let leftOut = 'no content that a model can read'
    for (const block of blocks.filter((each) => each.type === 'tool_result')) {
      const problem = this.#addResult(draft, block)
      if (problem === undefined) taken = true
      else leftOut = problem
    }
    const rest = blocks.filter((each) => each.type !== 'tool_result')
    if (rest.length > 0) this.#items.push({ kind: 'user', draft, blocks: rest })
    if (taken || rest.length > 0) this.#account.take(draft.line)
    else if (leftOut === REPEATED) this.#account.merge(draft.line, REPEATED)
    else this.#account.leaveOut(draft.line, leftOut)
  }

  /** Returns why the result is not in the conversation, or undefined. */
  #addResult(draft: DraftMessage, recorded: ContentBlock): string | undefined {
    const answer = this.#calls.answer(isToolResult(recorded) ? recorded.tool_use_id : '')
    const block = this.#resultBlock(recorded, draft.line, answer.call?.id ?? '')
    if (answer.outcome === 'first') {
      answer.call.result = { line: draft.line, id: draft.id, block, behind: this.#items.length }
      return undefined
    }
    const problem = secondResultProblem(answer, block)
    this.#changes.push({ line: draft.line, kind: 'block-left-out', detail: `tool_result: ${problem}` })
    return problem
  }

  #resultBlock(recorded: ContentBlock, line: number, callId: string): ToolResultBlock {
    const content = cleanBlocks(contentBlocks(recorded['content']), line, this.#changes)
    return {
      type: 'tool_result',
      tool_use_id: callId,
      content,
      ...(recorded['is_error'] === true ? { is_error: true } : {}),
    }
  }

  finish(): Conversation {
    const messages: ReadMessage[] = []
    const compactions: RecordedCompaction[] = []
    const unansweredCalls: { line: number; callId: string; name: string }[] = []
    this.#joinRepliesWithoutCalls()
    for (const item of this.#items) {
      if (item.kind === 'user') messages.push(userMessage(item.draft, item.blocks))
      else if (item.kind === 'compaction') {
        const { kind: _, ...rest } = item
        compactions.push({ ...rest, atMessage: messages.length })
      } else {
        messages.push(assistantMessage(item))
        for (const { id, name, line, result } of item.calls)
          if (result) messages.push(resultMessage(result))
          else unansweredCalls.push({ line, callId: id, name })
      }
    }
    const changes = this.#changes.sort((a, b) => a.line - b.line)
    return { messages, compactions, unansweredCalls, changes }
  }

  /** A turn ends at a reply without calls, so that a reply behind it would have nothing that asks for it. */
  #joinRepliesWithoutCalls(): void {
    const joined: Item[] = []
    let last: Item | undefined
    for (const [position, item] of this.#items.entries()) {
      if (item.kind === 'reply') this.#reportMovedResults(item, position)
      if (item.kind === 'reply' && last?.kind === 'reply' && last.calls.length === 0) {
        this.#join(last, item)
        continue
      }
      joined.push(item)
      if (item.kind !== 'compaction') last = item
    }
    this.#items = joined
  }

  #join(last: Reply, next: Reply): void {
    for (const block of next.blocks) last.blocks.push(block)
    for (const call of next.calls) last.calls.push(call)
    last.stopReason = next.stopReason
    last.usage = next.usage
    for (const line of next.lines)
      this.#account.merge(line, 'a reply that follows one without calls, no user between')
    const detail = `with the reply of line ${last.first.line}, which has no calls`
    this.#changes.push({ line: next.first.line, kind: 'replies-merged', detail })
  }

  #reportMovedResults(reply: Reply, position: number): void {
    for (const { id, result } of reply.calls) {
      if (result === undefined || result.behind === position + 1) continue
      const detail = `the result of ${id}, up to its reply of line ${reply.first.line}`
      this.#changes.push({ line: result.line, kind: 'result-moved', detail })
    }
  }
}

function secondResultProblem({ call }: Answer, block: ToolResultBlock): string {
  if (call === undefined) return 'a result without its call'
  return JSON.stringify(call.result?.block) === JSON.stringify(block)
    ? REPEATED
    : 'a second result of a call that has one'
}

const origin = (line: number, id: string | undefined) => ({ line, ...present({ id }) })

const userMessage = ({ line, id, source }: DraftMessage, content: readonly ContentBlock[]): ReadMessage => ({
  role: 'user',
  content,
  source,
  origin: origin(line, id),
})

const resultMessage = ({ line, id, block }: CallResult): ReadMessage => ({
  role: 'user',
  content: [block],
  source: 'import',
  origin: origin(line, id),
})

const assistantMessage = ({ first, blocks, stopReason, usage }: Reply): ReadMessage => ({
  role: 'assistant',
  content: blocks,
  source: 'import',
  ...present({ model: first.model, stopReason, usage }),
  origin: origin(first.line, first.id),
})
