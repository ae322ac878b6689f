import { Command } from 'commander'
import { addContextCommand } from './commands/context.ts'
import { addControlCommands } from './commands/control.ts'
import { addReadCommands } from './commands/read.ts'
import { addReplayCommand } from './commands/replay.ts'
import { addServeCommands } from './commands/serve.ts'
import { addSimulateCommand } from './commands/simulate.ts'

/** The command line. Exit codes: 0 done, 1 failed, 2 bad usage, 3 not found, 4 cannot reach Temporal or the store. */
export function createProgram(version: string): Command {
  const program = new Command('durable-compaction')
    .description('Agent sessions on Temporal whose context is compacted by a crash-safe operation')
    .version(version)
    .option(
      '--address <host:port>',
      'Temporal server; default: TEMPORAL_ADDRESS, a running dev, localhost:7233',
    )
    .option('--namespace <name>', 'Temporal namespace')
    .option(
      '--store <file>',
      'session store; default: DURABLE_COMPACTION_STORE, ~/.durable-compaction/sessions.db',
    )
    .option('--task-queue <name>', 'task queue of sessions')
    .option('--json', 'results as JSON')
    .exitOverride()
    .showHelpAfterError()
  addServeCommands(program)
  addControlCommands(program)
  addReadCommands(program)
  addContextCommand(program)
  addReplayCommand(program)
  addSimulateCommand(program)
  for (const command of program.commands) command.exitOverride()
  return program
}
