import { DefaultLogger, type LogEntry, Runtime } from '@temporalio/worker'
import pc from 'picocolors'

/** The SDK's warnings, one line each on the error output. Failures that sessions expect come with whole stacks otherwise. */
export function installWorkerLog(level: 'WARN' | 'ERROR'): void {
  Runtime.install({
    logger: new DefaultLogger(level, printEntry),
    telemetryOptions: { logging: { filter: level, forward: {} } },
    shutdownSignals: [],
  })
}

/** Said of every worker that only runs activities: two of ours do. */
const EXPECTED = /^No workflows registered/

function printEntry(entry: LogEntry): void {
  if (!EXPECTED.test(entry.message)) console.error(logLine(entry))
}

/** `09:47:39 WARN Activity failed: sessionOpen of fix-42: No worker has the tool "nope".` */
export function logLine({ level, timestampNanos, message, meta }: LogEntry): string {
  const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString().slice(11, 19)
  const of = [meta?.['activityType'], meta?.['workflowId']].filter((part) => typeof part === 'string')
  const error = meta?.['error']
  const why = error instanceof Error ? `: ${error.message}` : ''
  return `${pc.dim(time)} ${pc.yellow(level)} ${message}${of.length === 0 ? '' : `: ${of.join(' of ')}`}${why}`
}
