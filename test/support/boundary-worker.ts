import { appendFileSync } from 'node:fs'
import { Context } from '@temporalio/activity'
import {
  type ActivityInboundCallsInterceptor,
  NativeConnection,
  type WorkflowBundle,
} from '@temporalio/worker'
import { ModelCallError, type ModelClient } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { activityTool, createSessionWorker, scriptedModel, type WorkerTool } from '../../src/worker/index.ts'
import { quietRuntime, testBundle } from './temporal.ts'

// A worker in a process of its own that stops at one boundary, so that a test can kill it exactly there.

export interface BoundaryStage {
  readonly address: string
  readonly taskQueue: string
  readonly storePath: string
  /** One line for each answer that the model gave. */
  readonly paidPath: string
  /** Null: stops nowhere. */
  readonly boundary: Boundary | null
  /** The worker has a hook that gives {@link RETOLD} after each compaction. */
  readonly hooks?: true
  /** The model reads the first result back by the `history` tool before it answers. */
  readonly recalls?: true
  /** `words` is an activity that the workers of this queue have. */
  readonly handedTo?: string
}

export const RETOLD = 'House rule: count aloud.'

/** Before an activity runs, after it ran and before its result is reported, or before the nth summary call of the process is answered. */
export type Boundary =
  | { readonly phase: 'before' | 'after'; readonly activity: string; readonly callId?: string }
  | { readonly phase: 'call'; readonly ordinal: number }

/** Tokens of one tool result, about. */
const RESULT_WORDS = 1_400
export const STEPS = 7
/** So small that a span goes in chunks. */
const SUMMARIZER_WINDOW = 6_000
export const POLICY = {
  summarizer: { provider: 'scripted', model: 'small' },
  models: [{ provider: 'scripted', model: 'small', contextWindow: SUMMARIZER_WINDOW }],
  summaryMaxTokens: 1_000,
  micro: false,
  prune: false,
} as const

/** A summarizer whose key is refused, before the one of {@link POLICY}. Each request to it leaves a line `refused`. */
export const FALLING_BACK = {
  ...POLICY,
  summarizer: { provider: 'scripted', model: 'barred' },
  summarizerFallbacks: [POLICY.summarizer],
} as const

export const RECALL = { id: 'recall', name: 'history', input: { query: '"index":0' } } as const

export function boundaryModel(stage: Pick<BoundaryStage, 'paidPath' | 'boundary' | 'recalls'>): ModelClient {
  let summaries = 0
  const model = scriptedModel(
    ({ index }) => {
      if (index < STEPS)
        return { content: [{ type: 'tool_use', id: `call_${index}`, name: 'words', input: { index } }] }
      return stage.recalls && index === STEPS ? { content: [{ type: 'tool_use', ...RECALL }] } : 'Done.'
    },
    {
      summaries: async () => {
        if (stage.boundary?.phase === 'call' && summaries++ === stage.boundary.ordinal) await held()
        return 'Work is under way: the words are counted one by one. Next: count on.'
      },
    },
  )
  return {
    ...model,
    capacity: async (name) => ({
      contextWindow: name === 'small' ? SUMMARIZER_WINDOW : 16_000,
      maxOutputTokens: 4_000,
    }),
    async generate(request, context) {
      const problems = requestProblems(request.messages)
      if (problems.length > 0) appendFileSync(stage.paidPath, `invalid: ${problems.join()}\n`)
      if (request.model === FALLING_BACK.summarizer.model) {
        appendFileSync(stage.paidPath, 'refused\n')
        throw new ModelCallError({ kind: 'authentication', retryable: false, message: 'invalid key' })
      }
      const reply = await model.generate(request, context)
      appendFileSync(stage.paidPath, `${request.purpose} ${request.index}\n`)
      return reply
    },
  }
}

export const WORDS_TOOL: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async (input) => `${JSON.stringify(input)} ${'word '.repeat(RESULT_WORDS)}`,
}

const handedWords = (taskQueue: string): WorkerTool =>
  activityTool({ name: 'words', activity: 'words', taskQueue, inputSchema: { type: 'object' } })

function held(): Promise<never> {
  process.send?.('held')
  return new Promise(() => {
    setInterval(() => undefined, 1_000) // Beats go on: only the kill ends it.
  })
}

function holdAt(boundary: Boundary | null): ActivityInboundCallsInterceptor {
  return {
    async execute(input, next) {
      const { activityType } = Context.current().info
      const { callId } = (input.args[0] ?? {}) as { callId?: string }
      const here = (phase: string) =>
        boundary?.phase === phase &&
        'activity' in boundary &&
        boundary.activity === activityType &&
        (boundary.callId === undefined || boundary.callId === callId)
      if (here('before')) await held()
      const result = await next(input)
      if (here('after')) await held()
      return result
    },
  }
}

async function main(): Promise<void> {
  const stage = JSON.parse(process.env['BOUNDARY_STAGE'] ?? '') as BoundaryStage
  quietRuntime()
  const worker = await createSessionWorker({
    connection: await NativeConnection.connect({ address: stage.address }),
    store: sqliteStore({ path: stage.storePath }),
    models: { scripted: boundaryModel(stage) },
    tools: [stage.handedTo === undefined ? WORDS_TOOL : handedWords(stage.handedTo)],
    taskQueue: stage.taskQueue,
    ...(stage.hooks ? { hooks: { afterCompaction: async () => ({ messages: [RETOLD] }) } } : {}),
    workflows: { workflowBundle: (await testBundle()) as WorkflowBundle },
    worker: {
      stickyQueueScheduleToStartTimeout: '1s',
      interceptors: { activity: [() => ({ inbound: holdAt(stage.boundary) })] },
    },
  })
  process.once('disconnect', () => process.exit()) // Its test has gone.
  process.send?.('ready')
  await worker.run()
}

if (process.env['BOUNDARY_STAGE'] !== undefined) await main()
