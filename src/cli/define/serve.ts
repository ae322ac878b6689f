import type { Command } from 'commander'
import { action } from '../action.ts'
import { names, port } from '../option-values.ts'

const COMMAND_ENV = 'variables that commands of run_command get too, such as JAVA_HOME,CI'

/** What runs until it is stopped. */
export function defineServeCommands(program: Command): void {
  program
    .command('dev')
    .description('a Temporal server, a store and a worker in one process, for trying things out')
    .option('--port <port>', 'port of the server; default: a free one', port)
    .option('--ui-port <port>', 'port of the web page; default: a free one', port)
    .option('--root <folder>', 'folder that the tools may use', '.')
    .option('--command-env <names>', COMMAND_ENV, names)
    .addHelpText(
      'after',
      '\nThe other commands find a running dev by themselves.\n\nExample:\n  durable-compaction dev --ui-port 8233 --root ~/project',
    )
    // Temporal's packages take seconds to load: said before, not after.
    .hook('preAction', (dev) => {
      if (dev.optsWithGlobals()['json'] !== true) console.error('Starting Temporal, the store and a worker …')
    })
    .action(action(async () => (await import('../commands/dev.ts')).dev))
  program
    .command('worker')
    .description(
      'a worker with the file tools, the models scripted/echo and scripted/slow, and Claude when ANTHROPIC_API_KEY is set, for a server that runs',
    )
    .option('--root <folder>', 'folder that the tools may use', '.')
    .option('--command-env <names>', COMMAND_ENV, names)
    .addHelpText(
      'after',
      '\nExample:\n  durable-compaction worker --address localhost:7233 --store ./sessions.db',
    )
    .action(action(async () => (await import('../commands/worker.ts')).worker))
}
