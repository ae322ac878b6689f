import { type Command, Option } from 'commander'
import { LIMITS } from '../../shared/limits.ts'
import { action } from '../action.ts'
import { MODEL_HELP, names, span, textUpTo } from '../option-values.ts'

/** Commands that change a session. */
export function defineControlCommands(program: Command): void {
  defineStart(program)
  definePrompt(program)
  defineCompact(program)
  defineCancel(program)
  defineClose(program)
}

function defineStart(program: Command): void {
  program
    .command('start')
    .argument('<session>', 'its id: 1 to 64 characters of A-Z a-z 0-9 . _ -')
    .description(
      'start a session; one that was closed goes on, with what it had where nothing else is given; one that runs with what is given is left as it is',
    )
    .option('--model <provider/model>', MODEL_HELP)
    .option('--system <text>', 'system prompt')
    .option('--tools <names>', 'tools of the worker, separated by commas', names)
    .option('--policy <file>', 'compaction policy, JSON')
    .addOption(
      new Option('--preset <name>', 'policy to begin with').choices(['default', 'lean', 'threeLevel']),
    )
    .option('--no-wait', 'do not wait until a worker has accepted the settings')
    .addHelpText(
      'after',
      '\nExample:\n  durable-compaction start fix-42 --model scripted/echo --tools read_file,list_files --preset lean',
    )
    .action(action(async () => (await import('../commands/start.ts')).start))
}

function definePrompt(program: Command): void {
  program
    .command('prompt')
    .argument('<session>', 'its id')
    .argument('<text>', 'what to say; - reads it from the input')
    .description('send a prompt and wait for the answer; Ctrl-C leaves the turn running')
    .option('--id <request>', 'request id: the same id again is the same prompt, and gives the same answer')
    .addOption(
      new Option('--delivery <when>', 'next-step joins a running turn, no-wake waits for the next one')
        .choices(['next-turn', 'next-step', 'no-wake'])
        .default('next-turn'),
    )
    .option('--detach', 'do not wait for the answer')
    .addHelpText(
      'after',
      '\nExamples:\n  durable-compaction prompt fix-42 "Why does the build fail?"\n  git diff | durable-compaction prompt fix-42 -',
    )
    .action(action(async () => (await import('../commands/prompt.ts')).prompt))
}

function defineCompact(program: Command): void {
  program
    .command('compact')
    .argument('<session>', 'its id')
    .description('compact now, also below the threshold, and wait for the result; Ctrl-C cancels it')
    .option(
      '--focus <text>',
      `what the checkpoint must keep, at most ${LIMITS.focusChars} characters`,
      textUpTo(LIMITS.focusChars),
    )
    .option(
      '--span <a:b>',
      'only the messages from seq a to seq b, both among those that the model still sees',
      span,
    )
    .option('--wait', 'when the session is busy, wait for the next step instead of giving up')
    .option('--detach', 'do not wait for the result')
    .addHelpText('after', '\nExample:\n  durable-compaction compact fix-42 --wait --focus "API decisions"')
    .action(action(async () => (await import('../commands/compact.ts')).compact))
}

function defineCancel(program: Command): void {
  program
    .command('cancel')
    .argument('<session>', 'its id')
    .description('stop the running turn, or take back one prompt or compaction')
    .addOption(
      new Option('--prompt <request>', 'the prompt with this request id, also one that waits').conflicts(
        'compaction',
      ),
    )
    .option('--compaction <request>', 'the compaction with this request id')
    .option('--reason <text>', 'why')
    .addHelpText('after', '\nExample:\n  durable-compaction cancel fix-42 --reason "wrong branch"')
    .action(action(async () => (await import('../commands/stop.ts')).cancel))
}

function defineClose(program: Command): void {
  program
    .command('close')
    .argument('<session>', 'its id')
    .description('end the session after the running turn; waiting prompts stay, start opens it again')
    .option('--reason <text>', 'why')
    .addHelpText('after', '\nExample:\n  durable-compaction close fix-42')
    .action(action(async () => (await import('../commands/stop.ts')).close))
}
