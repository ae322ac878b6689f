import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DefaultLogger, Runtime } from '@temporalio/worker'
import type { Command } from 'commander'
import pc from 'picocolors'
import type { ReadTranscript } from '../../formats/transcript.ts'
import { sqliteStore } from '../../store/index.ts'
import { obtainServer } from '../../worker/dev-server/obtain-server.ts'
import { readJsonFile } from '../json-file.ts'
import type { Output } from '../output.ts'
import { type ReplayReport, runReplay } from '../replay/run-replay.ts'
import { action } from '../setting.ts'
import { formatCount, formatMs } from '../table.ts'
import { readTranscriptFile } from '../transcript-file.ts'

interface ReplayCommandOptions {
  readonly policy?: string
  readonly window?: string
}

export function addReplayCommand(program: Command): void {
  program
    .command('replay <file>')
    .description('play a recorded transcript through a real session on Temporal, and check all of it')
    .option('--policy <file>', 'compaction policy, JSON')
    .option('--window <tokens>', 'context window; default: the smallest in which every message fits')
    .action(
      action<ReplayCommandOptions>(async ({ output }, [file = ''], options) => {
        const transcript = readTranscriptFile(file, output)
        const report = await replayFile(transcript, output, options)
        output.result({ file, ...report, read: transcript.report }, reportText(file, transcript, report))
        if (!isClean(report)) process.exitCode = 1
      }),
    )
}

async function replayFile(
  transcript: ReadTranscript,
  output: Output,
  options: ReplayCommandOptions,
): Promise<ReplayReport> {
  Runtime.install({ logger: new DefaultLogger('ERROR') })
  const folder = mkdtempSync(join(tmpdir(), 'durable-compaction-replay-'))
  const server = await obtainServer()
  const store = sqliteStore({ path: join(folder, 'sessions.db') })
  try {
    output.progress(`Temporal at ${server.address} (${server.origin})`)
    return await runReplay(transcript, {
      address: server.address,
      namespace: server.namespace,
      taskQueue: `replay-${process.pid}`,
      sessionId: `replay-${process.pid}`,
      store,
      ...(options.window === undefined ? {} : { window: Number(options.window) }),
      ...(options.policy === undefined ? {} : { policy: readJsonFile(options.policy) }),
      onProgress: (done, of) => output.progress(`turn ${done} of ${of}`),
    })
  } finally {
    await store.close()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const isClean = ({ requests, log }: ReplayReport): boolean =>
  requests.problems.length === 0 &&
  log.problems.length === 0 &&
  log.brackets.opened === log.brackets.closedOnce

function reportText(file: string, { messages, format }: ReadTranscript, report: ReplayReport): string {
  const { requests, log, window, durationMs } = report
  const problems = [...requests.problems, ...log.problems]
  return [
    `${file}: ${format}, ${messages.length} messages, window ${formatCount(window)}`,
    `${requests.requests} requests, the largest with its reply ${formatCount(requests.largest)} tokens`,
    `${log.compactions} compactions; brackets opened ${log.brackets.opened}, closed once ${log.brackets.closedOnce}; ${formatMs(durationMs)}`,
    problems.length === 0
      ? pc.green('every request valid, every message given back as it was recorded')
      : pc.red(problems.join('\n')),
  ].join('\n')
}
