import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { Worker, type WorkflowBundle } from '@temporalio/worker'
import { DeterminismViolationError } from '@temporalio/workflow'
import { CROWDED_MACHINE, quietRuntime, testBundle } from '../support/temporal.ts'

// Histories that were recorded from real sessions (scripts/record-histories.ts), replayed against the workflows of today, without a server.

const FOLDER = new URL('./histories/', import.meta.url)

interface RecordedRun {
  readonly workflowId: string
  readonly history: { readonly events: readonly RecordedEvent[] }
}

interface RecordedEvent {
  readonly eventType: string
  readonly activityTaskScheduledEventAttributes?: { readonly activityType: { readonly name: string } }
  readonly startChildWorkflowExecutionInitiatedEventAttributes?: { readonly workflowId: string }
  readonly activityTaskFailedEventAttributes?: {
    readonly failure: { readonly applicationFailureInfo?: { readonly type: string } }
  }
  readonly activityTaskCompletedEventAttributes?: {
    readonly result?: { readonly payloads: readonly { readonly data: string }[] }
  }
}

const cases = readdirSync(FOLDER).map((file) => ({
  name: file.replace('.json.gz', ''),
  runs: JSON.parse(gunzipSync(readFileSync(new URL(file, FOLDER))).toString()) as RecordedRun[],
}))

let workflowBundle: WorkflowBundle
before(async () => {
  quietRuntime()
  workflowBundle = await testBundle()
})

const replay = ({ history, workflowId }: RecordedRun) =>
  Worker.runReplayHistory({ workflowBundle, ...CROWDED_MACHINE }, history, workflowId)

describe('recorded sessions replay', () => {
  test('there are as many as were recorded', () => {
    assert.ok(cases.length >= 12, `${cases.length} files in ${FOLDER.pathname}`)
  })

  for (const { name, runs } of cases) {
    test(`fault Y05 ${name}: ${runs.length} runs`, async () => {
      for (const run of runs) await replay(run)
    })
  }
})

/** What a change of the workflows would look like to sessions that are open. */
describe('a changed workflow does not replay', () => {
  const runOf = (name: string, isCompaction = false) =>
    cases
      .find((each) => each.name === name)
      ?.runs.find(({ workflowId }) => workflowId.includes('/compact/') === isCompaction)
  const session = runOf('pressure')
  const compaction = runOf('pressure', true)

  test('another activity', async () => {
    await rejects(
      session,
      (event) => event.activityTaskScheduledEventAttributes?.activityType.name === 'sessionRunTool',
      (event) => ({
        ...event,
        activityTaskScheduledEventAttributes: {
          ...event.activityTaskScheduledEventAttributes,
          activityType: { name: 'sessionOther' },
        },
      }),
    )
  })

  test('another child', async () => {
    await rejects(
      session,
      (event) => event.startChildWorkflowExecutionInitiatedEventAttributes !== undefined,
      (event) => ({
        ...event,
        startChildWorkflowExecutionInitiatedEventAttributes: {
          ...event.startChildWorkflowExecutionInitiatedEventAttributes,
          workflowId: 'other',
        },
      }),
    )
  })

  for (const name of ['overflow-recovery', 'compact-tool']) {
    test(`${name}: another child`, async () => {
      await rejects(
        runOf(name),
        (event) => event.startChildWorkflowExecutionInitiatedEventAttributes !== undefined,
        (event) => ({
          ...event,
          startChildWorkflowExecutionInitiatedEventAttributes: {
            ...event.startChildWorkflowExecutionInitiatedEventAttributes,
            workflowId: 'other',
          },
        }),
      )
    })
  }

  test('overflow-recovery: a refusal that is no overflow would start no compaction', async () => {
    await rejects(
      runOf('overflow-recovery'),
      (event) => failureOf(event)?.applicationFailureInfo?.type === 'ContextOverflow',
      (event) => ({
        ...event,
        activityTaskFailedEventAttributes: {
          ...event.activityTaskFailedEventAttributes,
          failure: {
            ...failureOf(event),
            applicationFailureInfo: { type: 'ModelFailed', nonRetryable: true },
          },
        },
      }),
    )
  })

  test('compact-tool: a reply that did not call it would start no compaction', async () => {
    await rejects(
      runOf('compact-tool'),
      (event) => resultOf(event)?.['compact'] !== undefined,
      (event) => {
        const { compact: _, ...rest } = resultOf(event) ?? {}
        const [payload] = event.activityTaskCompletedEventAttributes?.result?.payloads ?? []
        const data = Buffer.from(JSON.stringify(rest)).toString('base64')
        return {
          ...event,
          activityTaskCompletedEventAttributes: {
            ...event.activityTaskCompletedEventAttributes,
            result: { payloads: [{ ...payload, data }] },
          },
        }
      },
    )
  })

  test('another order of the compaction', async () => {
    await rejects(
      compaction,
      (event) => event.activityTaskScheduledEventAttributes?.activityType.name === 'sessionSummarize',
      (event) => ({
        ...event,
        activityTaskScheduledEventAttributes: {
          ...event.activityTaskScheduledEventAttributes,
          activityType: { name: 'sessionCommitCompaction' },
        },
      }),
    )
  })
})

const failureOf = (event: RecordedEvent) => event.activityTaskFailedEventAttributes?.failure

/** What an activity returned. */
function resultOf(event: RecordedEvent): Readonly<Record<string, unknown>> | undefined {
  const [payload] = event.activityTaskCompletedEventAttributes?.result?.payloads ?? []
  if (payload === undefined) return undefined
  return JSON.parse(Buffer.from(payload.data, 'base64').toString()) as Record<string, unknown>
}

async function rejects(
  run: RecordedRun | undefined,
  isIt: (event: RecordedEvent) => boolean,
  change: (event: RecordedEvent) => object,
): Promise<void> {
  assert.ok(run)
  const at = run.history.events.findIndex(isIt)
  const event = run.history.events[at]
  assert.ok(event)
  const events = run.history.events.with(at, change(event) as RecordedEvent)
  await assert.rejects(replay({ ...run, history: { events } }), DeterminismViolationError)
}
