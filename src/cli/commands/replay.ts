import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pc from 'picocolors'
import { planReplay } from '../../formats/replay-plan.ts'
import type { ReadTranscript } from '../../formats/transcript.ts'
import { sqliteStore } from '../../store/index.ts'
import type { Run } from '../action.ts'
import { EXIT, Interrupted } from '../exit-codes.ts'
import { untilInterrupted } from '../interrupt.ts'
import { readJsonFile } from '../json-file.ts'
import { type ReplayReport, runReplay } from '../replay/run-replay.ts'
import { showReplayProgress } from '../replay-progress.ts'
import { serverFor } from '../server.ts'
import type { Setting } from '../setting.ts'
import { formatCount, formatMs } from '../table.ts'
import { FORMAT_NAMES, readTranscriptFile } from '../transcript-file.ts'
import { installWorkerLog } from '../worker-log.ts'

export interface ReplayOptions {
  readonly policy?: string
  readonly window?: number
}

export const replay: Run<ReplayOptions> = async (setting, [file = ''], options) => {
  const transcript = readTranscriptFile(file, setting.output)
  const policy = options.policy === undefined ? {} : { policy: readJsonFile(options.policy) }
  const window = options.window === undefined ? {} : { window: options.window }
  const report = await replayTranscript(setting, transcript, { ...policy, ...window })
  setting.output.result(
    { file, ...report, read: transcript.report },
    describeReport(file, transcript, report),
  )
  if (!isClean(report)) process.exitCode = EXIT.failed
}

/** In a store of its own, on the server that was named or one of its own. @throws Interrupted */
async function replayTranscript(
  setting: Setting,
  transcript: ReadTranscript,
  options: { readonly policy?: Readonly<Record<string, unknown>>; readonly window?: number },
): Promise<ReplayReport> {
  const { output } = setting
  installWorkerLog('ERROR')
  const replies = planReplay(transcript).replies.length
  const signal = untilInterrupted()
  const server = await serverFor(setting)
  const folder = mkdtempSync(join(tmpdir(), 'durable-compaction-replay-'))
  const store = sqliteStore({ path: join(folder, 'sessions.db') })
  const name = `replay-${process.pid}-${Date.now().toString(36)}`
  output.progress(
    `Temporal at ${server.address} (${server.origin}); ${formatCount(replies)} recorded replies`,
  )
  const say = (line: string) => output.progress(line)
  const progress = showReplayProgress({ store, sessionId: name, replies, say })
  try {
    const { address, namespace } = server
    return await runReplay(transcript, {
      ...{ address, namespace, taskQueue: name, sessionId: name, store, signal },
      onProgress: progress.onTurn,
      ...options,
    })
  } catch (error) {
    if (!signal.aborted) throw error
    throw new Interrupted('The replay was ended; nothing of it is kept.')
  } finally {
    progress.stop()
    await store.close()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const isClean = ({ requests, log }: ReplayReport): boolean =>
  requests.problems.length === 0 &&
  log.problems.length === 0 &&
  log.brackets.opened === log.brackets.closedOnce

function describeReport(file: string, { messages, format }: ReadTranscript, report: ReplayReport): string {
  const { requests, log, window, durationMs } = report
  const problems = [...requests.problems, ...log.problems]
  return [
    `${file}: ${FORMAT_NAMES[format]}, ${formatCount(messages.length)} messages, window ${formatCount(window)}`,
    `${formatCount(requests.requests)} requests, the largest with its reply ${formatCount(requests.largest)} tokens`,
    `${log.compactions} compactions; brackets opened ${log.brackets.opened}, closed once ${log.brackets.closedOnce}; ${formatMs(durationMs)}`,
    problems.length === 0
      ? pc.green('every request valid, every message given back as it was recorded')
      : pc.red(problems.join('\n')),
  ].join('\n')
}
