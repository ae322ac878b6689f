import { Command } from 'commander'
import { defineAdjustCommands } from './define/adjust.ts'
import { defineChatCommand } from './define/chat.ts'
import { defineControlCommands } from './define/control.ts'
import { defineReadCommands } from './define/read.ts'
import { defineServeCommands } from './define/serve.ts'
import { defineTranscriptCommands } from './define/transcripts.ts'

const AFTER_HELP = `
Begin with "durable-compaction dev" in one terminal, then in another:
  durable-compaction start hello --model scripted/echo
  durable-compaction prompt hello "Is anybody there?"

Results go to the output, everything else to the error output. Exit codes: 0 done, 1 failed,
2 wrong words or values, 3 not found, 4 cannot reach Temporal, a worker or the store, 130 Ctrl-C.`

/** The command line. Only words are here: what a command does is loaded when it runs. With `json` wrong words are one JSON value, as every other error is. */
export function createProgram(version: string, { json = false }: { readonly json?: boolean } = {}): Command {
  const program = new Command('durable-compaction')
    .description('Agent sessions on Temporal whose context is compacted by a crash-safe operation')
    .version(version)
    .option('--address <host:port>', 'Temporal server (TEMPORAL_ADDRESS, a running dev, localhost:7233)')
    .option('--namespace <name>', 'Temporal namespace (TEMPORAL_NAMESPACE, default)')
    .option('--store <file>', 'session store (DURABLE_COMPACTION_STORE, ~/.durable-compaction/sessions.db)')
    .option('--task-queue <name>', 'task queue of sessions (durable-compaction)')
    .option('--json', 'results as JSON, one value a line; errors too')
    .addHelpText('after', AFTER_HELP)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput(json ? { outputError: (text, write) => write(jsonError(text)) } : {})
    .showHelpAfterError(json ? false : '(add --help for its words and options)')
    .exitOverride()
  defineServeCommands(program)
  defineChatCommand(program)
  defineControlCommands(program)
  defineAdjustCommands(program)
  defineReadCommands(program)
  defineTranscriptCommands(program)
  return program
}

const jsonError = (text: string): string =>
  `${JSON.stringify({ error: { name: 'UsageError', message: text.replace(/^error: /, '').trim() } })}\n`
