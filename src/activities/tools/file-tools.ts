import type { Tool } from '../../shared/ports/tool.ts'
import { listFilesTool } from './list-files.ts'
import { readFileTool } from './read-file.ts'
import { runCommandTool } from './run-command.ts'
import { searchFilesTool } from './search-files.ts'
import { writeFileTool } from './write-file.ts'

export interface FileToolsOptions {
  /**
   * Names of variables of the worker's environment that commands get too, such as `JAVA_HOME`. Default: none beside PATH, HOME, USER, LOGNAME, SHELL, TERM, TMPDIR, TZ,
   * LANG, LANGUAGE and LC_*.
   */
  readonly commandEnv?: readonly string[]
}

/**
 * The tools that the command line and the demo give a session, confined to `root`; commands of `run_command` only begin there.
 *
 * @throws SessionError `InvalidInput` for a key of a model in `commandEnv`
 */
export function fileTools(root: string, { commandEnv = [] }: FileToolsOptions = {}): readonly Tool[] {
  return [
    readFileTool(root),
    listFilesTool(root),
    searchFilesTool(root),
    runCommandTool(root, commandEnv),
    writeFileTool(root),
  ]
}
