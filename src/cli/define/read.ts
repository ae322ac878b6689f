import { type Command, Option } from 'commander'
import { LIMITS } from '../../shared/limits.ts'
import { action } from '../action.ts'
import { span, textUpTo, wholeNumber } from '../option-values.ts'

/** Commands that read the store, and need no server; only `state` also asks the workflow for what it alone knows. */
export function defineReadCommands(program: Command): void {
  defineReports(program)
  defineViews(program)
}

/** Of what was done and said. */
function defineReports(program: Command): void {
  program
    .command('list')
    .description('the sessions of the store, newest activity first')
    .option('--limit <n>', 'how many', wholeNumber(1, 10_000), 20)
    .addHelpText('after', '\nExample:\n  durable-compaction list --limit 5 --json')
    .action(action(async () => (await import('../commands/list.ts')).list))
  program
    .command('state')
    .argument('<session>', 'its id')
    .description('what the session does now')
    .addHelpText('after', '\nExample:\n  durable-compaction state fix-42 --json')
    .action(action(async () => (await import('../commands/state.ts')).state))
  program
    .command('history')
    .argument('<session>', 'its id')
    .description('its compactions, newest first')
    .option('--limit <n>', 'how many', wholeNumber(1, 10_000), 20)
    .option('--prices <file>', 'price table, as JSON')
    .addHelpText('after', '\nExample:\n  durable-compaction history fix-42 --limit 5')
    .action(action(async () => (await import('../commands/history.ts')).history))
  program
    .command('usage')
    .argument('<session>', 'its id')
    .description('every model call that was paid: tokens and price by purpose and model')
    .option('--prices <file>', 'price table, as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  durable-compaction usage fix-42\n  durable-compaction usage fix-42 --prices prices.json --json',
    )
    .action(action(async () => (await import('../commands/usage.ts')).usage))
  program
    .command('explain')
    .argument('<compaction>', 'its workflow id SESSION/compact/ID; or the session, for its newest')
    .argument('[id]', 'behind a session: one of its compactions')
    .description('one compaction: who asked, what was replaced, kept, dropped and paid')
    .option('--prices <file>', 'price table, as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  durable-compaction explain fix-42\n  durable-compaction explain fix-42 t3.s2.pressure.0\n  durable-compaction explain fix-42/compact/t3.s2.pressure.0 --json',
    )
    .action(action(async () => (await import('../commands/explain.ts')).explain))
  program
    .command('transcript')
    .argument('<session>', 'its id')
    .description('the whole conversation, as it was, also what compactions have replaced')
    .addHelpText('after', '\nExample:\n  durable-compaction transcript fix-42 | less -R')
    .action(action(async () => (await import('../commands/transcript.ts')).transcript))
}

/** Of what is now, and of the log as it grows. */
function defineViews(program: Command): void {
  program
    .command('context')
    .argument('<session>', 'its id')
    .description('what fills the window now, and what the next compaction would take')
    .addHelpText('after', '\nExample:\n  durable-compaction context fix-42')
    .action(action(async () => (await import('../commands/context.ts')).context))
  program
    .command('preview')
    .argument('<session>', 'its id')
    .description(
      'what a compaction would do now: span, tokens, price, names that would be lost; writes nothing',
    )
    .option(
      '--focus <text>',
      `what the checkpoint would be asked to keep, at most ${LIMITS.focusChars} characters`,
      textUpTo(LIMITS.focusChars),
    )
    .option('--span <a:b>', 'only the messages from seq a to seq b', span)
    .option('--prices <file>', 'a price table of your own, JSON, as for simulate')
    .addHelpText('after', '\nExample:\n  durable-compaction preview fix-42 --span 12:40')
    .action(action(async () => (await import('../commands/preview.ts')).preview))
  program
    .command('watch')
    .argument('<session>', 'its id')
    .description('follow a session until Ctrl-C')
    .option(
      '--after <seq>',
      'begin behind this event, -1: with the first; default: from now on',
      wholeNumber(-1),
    )
    .addHelpText('after', '\nExample:\n  durable-compaction watch fix-42 --after 120')
    .action(action(async () => (await import('../commands/watch.ts')).watch))
  program
    .command('export')
    .argument('<session>', 'its id')
    .description('the whole log as JSON lines, from which the session can be rebuilt')
    .option('--surface', 'only the messages that the model sees now')
    .addOption(
      new Option(
        '--compaction <id>',
        'only the messages that the model saw when this compaction began: the bytes of its archive',
      ).conflicts('surface'),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  durable-compaction export fix-42 > fix-42.jsonl\n  durable-compaction export fix-42 --compaction t3.s2.pressure.0',
    )
    .action(action(async () => (await import('../commands/export.ts')).exportLog))
}
