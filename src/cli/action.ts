import type { Command } from 'commander'
import type { Setting } from './setting.ts'

/** What a command does. `args` are the words behind the command's name. */
export type Run<Options> = (setting: Setting, args: readonly string[], options: Options) => Promise<void>

/** An action of commander: loads the command, and runs it on a setting that is closed however the command ends. */
export function action<Options>(load: () => Promise<Run<Options>>): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command
    const [{ Setting }, run] = await Promise.all([import('./setting.ts'), load()])
    const setting = new Setting(command.optsWithGlobals())
    try {
      await run(setting, command.args, command.opts() as Options)
    } finally {
      await setting.close()
    }
  }
}
