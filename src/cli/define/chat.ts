import { type Command, Option } from 'commander'
import { action } from '../action.ts'
import { MODEL_HELP, names } from '../option-values.ts'

/** A conversation at the terminal, or over a pipe. */
export function defineChatCommand(program: Command): void {
  program
    .command('chat')
    .argument('[session]', 'its id: a new one is started, a known one goes on; default: a new id')
    .description('talk to a session: streaming answers, tools, /compact, /context, /undo, /help')
    .option('--model <provider/model>', MODEL_HELP)
    .option('--system <text>', 'system prompt of a new session')
    .option('--tools <names>', 'tools of the worker for a new session, separated by commas', names)
    .option('--policy <file>', 'compaction policy of a new session, JSON')
    .addOption(
      new Option('--preset <name>', 'policy to begin with').choices(['default', 'lean', 'threeLevel']),
    )
    .addHelpText(
      'after',
      "\nCtrl-C stops the turn, a second one leaves; the session stays, and the same command comes back to it.\nFrom a pipe each line is one message, answered in order.\n\nExamples:\n  durable-compaction chat fix-42 --model scripted/echo\n  durable-compaction chat fix-42\n  printf 'Hello\\n/context\\n' | durable-compaction chat fix-42",
    )
    .action(action(async () => (await import('../commands/chat.ts')).chat))
}
