import type { Command } from 'commander'
import type { TurnResult } from '../../client/index.ts'
import { isText } from '../../shared/session/content.ts'
import { UsageError } from '../exit-codes.ts'
import { readJsonFile } from '../json-file.ts'
import { action } from '../setting.ts'
import { formatCount, formatMs } from '../table.ts'

/** Commands that change a session. */
export function addControlCommands(program: Command): void {
  addStart(program)
  addPrompt(program)
  addCompact(program)
  addCancel(program)
  addClose(program)
}

function addStart(program: Command): void {
  program
    .command('start <session>')
    .description('start a session, or check that it runs with these settings')
    .requiredOption('--model <provider/model>', 'the model; "none" for a session without one')
    .option('--system <text>', 'system prompt', '')
    .option('--tools <names>', 'tools of the worker, separated by commas', '')
    .option('--policy <file>', 'compaction policy, JSON')
    .option('--preset <name>', 'default, lean or threeLevel')
    .option('--no-wait', 'do not wait for a worker to accept it')
    .action(
      action<StartOptions>(async (setting, [id = ''], options) => {
        const sessions = await setting.sessions()
        await sessions.start(id, {
          model: options.model === 'none' ? null : options.model,
          system: options.system,
          tools: options.tools.split(',').filter((name) => name !== ''),
          ...(options.policy === undefined ? {} : { policy: readJsonFile(options.policy) }),
          ...(options.preset === undefined ? {} : { preset: options.preset }),
          wait: options.wait,
        })
        setting.output.result({ sessionId: id, started: true }, `Session ${id} runs.`)
      }),
    )
}

function addPrompt(program: Command): void {
  program
    .command('prompt <session> <text>')
    .description('send a prompt and wait for the answer')
    .option('--id <request>', 'request id: the same id again is the same prompt')
    .option('--delivery <how>', 'next-turn, next-step or no-wake', 'next-turn')
    .option('--detach', 'do not wait')
    .action(
      action<PromptOptions>(async (setting, [id = '', text = ''], options) => {
        const session = (await setting.sessions()).get(id)
        const delivery = deliveryOf(options.delivery)
        const turn = await session.prompt(text, {
          delivery,
          ...(options.id === undefined ? {} : { requestId: options.id }),
        })
        if (options.detach || delivery === 'no-wake') {
          return setting.output.result(
            { requestId: turn.requestId, accepted: true },
            `Accepted as ${turn.requestId}.`,
          )
        }
        const result = await turn.result()
        setting.output.result({ requestId: turn.requestId, ...result }, answerText(result))
        if (result.reason === 'error') process.exitCode = 1
      }),
    )
}

function addCompact(program: Command): void {
  program
    .command('compact <session>')
    .description('compact now, also below the threshold')
    .option('--focus <text>', 'what the checkpoint must keep')
    .option('--span <a:b>', 'only the messages from seq a to seq b')
    .option('--wait', 'when the session is busy, wait for the next step boundary')
    .option('--detach', 'do not wait for the result')
    .action(
      action<CompactOptions>(async (setting, [id = ''], options) => {
        const session = (await setting.sessions()).get(id)
        const request = {
          ...(options.focus === undefined ? {} : { focus: options.focus }),
          whenBusy: options.wait ? ('wait' as const) : ('refuse' as const),
        }
        const span = options.span === undefined ? undefined : spanOf(options.span)
        if (options.detach) {
          const receipt = await session.requestCompaction({
            ...request,
            ...(span === undefined ? {} : { span }),
          })
          return setting.output.result(receipt, `Request ${receipt.requestId}: ${receipt.status}.`)
        }
        const result =
          span === undefined
            ? await session.compactNow(request)
            : await session.compactRegion(span.start, span.end, request)
        setting.output.result(
          result,
          result === null
            ? 'Nothing useful to compact.'
            : `${result.compactionId}: ${formatCount(result.tokensBefore)} → ${formatCount(result.tokensAfter)} tokens, ` +
                `${result.shadowedSeqs.length} messages, ${formatMs(result.durationMs)}, #${result.startSeq} … #${result.endSeq}.`,
        )
      }),
    )
}

function addCancel(program: Command): void {
  program
    .command('cancel <session>')
    .description('stop the running turn, or a compaction request')
    .option('--compaction <request>', 'the compaction that this request asked for')
    .option('--reason <text>', 'why')
    .action(
      action<{ compaction?: string; reason?: string }>(async (setting, [id = ''], { compaction, reason }) => {
        const session = (await setting.sessions()).get(id)
        if (compaction === undefined) await session.cancelTurn(reason === undefined ? {} : { reason })
        else await session.cancelCompaction(compaction, reason)
        setting.output.result({ sessionId: id, asked: true }, `Asked session ${id} to stop.`)
      }),
    )
}

function addClose(program: Command): void {
  program
    .command('close <session>')
    .description('end the session after the running turn; waiting prompts stay')
    .option('--reason <text>', 'why')
    .action(
      action<{ reason?: string }>(async (setting, [id = ''], { reason }) => {
        await (await setting.sessions()).get(id).close(reason)
        setting.output.result({ sessionId: id, asked: true }, `Asked session ${id} to close.`)
      }),
    )
}

interface StartOptions {
  readonly model: string
  readonly system: string
  readonly tools: string
  readonly policy?: string
  readonly preset?: 'default' | 'lean' | 'threeLevel'
  readonly wait: boolean
}

interface PromptOptions {
  readonly id?: string
  readonly delivery: string
  readonly detach?: boolean
}

interface CompactOptions {
  readonly focus?: string
  readonly span?: string
  readonly wait?: boolean
  readonly detach?: boolean
}

function deliveryOf(value: string): 'next-turn' | 'next-step' | 'no-wake' {
  if (value === 'next-turn' || value === 'next-step' || value === 'no-wake') return value
  throw new UsageError(`--delivery must be next-turn, next-step or no-wake, got ${JSON.stringify(value)}.`)
}

function spanOf(value: string): { start: number; end: number } {
  const match = /^(\d+):(\d+)$/.exec(value)
  if (match === null)
    throw new UsageError(
      `--span must be two seqs with a colon, for example 12:40, got ${JSON.stringify(value)}.`,
    )
  return { start: Number(match[1]), end: Number(match[2]) }
}

function answerText({ reason, message, error }: TurnResult): string {
  const text = (message ?? [])
    .filter(isText)
    .map((block) => block.text)
    .join('\n')
  return reason === 'completed'
    ? text
    : [text, `[the turn ended: ${reason}${error === undefined ? '' : `: ${error}`}]`]
        .filter((part) => part !== '')
        .join('\n')
}
