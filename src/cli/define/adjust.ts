import type { Command } from 'commander'
import { action } from '../action.ts'
import { names, wholeNumber } from '../option-values.ts'

const REQUEST = 'request id: the same id again is the same request, and gives the same answer'

/** Commands that change what a session holds; each acts at the next step, or at once when nothing runs. */
export function defineAdjustCommands(program: Command): void {
  program
    .command('pin')
    .argument('<session>', 'its id')
    .argument('[text]', 'what must stay word for word in every checkpoint; - reads it from the input')
    .description(
      'pin a text, or a message; all pins together have at most 2,000 tokens, less on a small window',
    )
    .option('--seq <n>', 'the text of the message with this seq', wholeNumber(0))
    .option('--id <request>', `${REQUEST}; unpin takes it`)
    .addHelpText('after', '\nExample:\n  durable-compaction pin fix-42 "Never push to main." --id no-push')
    .action(action(async () => (await import('../commands/pin.ts')).pin))
  program
    .command('unpin')
    .argument('<session>', 'its id')
    .argument('<pin>', 'its id: the one that pin has printed, or keep.<seq>.<n>')
    .description('take a pin back')
    .option('--id <request>', REQUEST)
    .addHelpText('after', '\nExample:\n  durable-compaction unpin fix-42 no-push')
    .action(action(async () => (await import('../commands/pin.ts')).unpin))
  program
    .command('undo')
    .argument('<session>', 'its id')
    .argument('<compaction>', 'its id, as history shows it')
    .description('put the messages that a compaction replaced back to their place')
    .option('--id <request>', REQUEST)
    .addHelpText('after', '\nExample:\n  durable-compaction undo fix-42 t3.s2.pressure.0')
    .action(action(async () => (await import('../commands/undo.ts')).undo))
  program
    .command('configure')
    .argument('<session>', 'its id')
    .description(
      'another model, system prompt, tools or policy from the next step on; what is not given stays',
    )
    .option('--model <provider/model>', 'a model of the worker; "none" for a session without one')
    .option('--system <text>', 'system prompt')
    .option('--tools <names>', 'tools of the worker, separated by commas, in the place of all it has', names)
    .option('--policy <file>', 'compaction policy, JSON, in the place of the whole one it has')
    .option('--id <request>', REQUEST)
    .addHelpText('after', '\nExample:\n  durable-compaction configure fix-42 --model scripted/slow')
    .action(action(async () => (await import('../commands/configure.ts')).configure))
}
