import type { Tool } from '../../shared/ports/tool.ts'
import { listFilesTool } from './list-files.ts'
import { readFileTool } from './read-file.ts'
import { runCommandTool } from './run-command.ts'
import { searchFilesTool } from './search-files.ts'
import { writeFileTool } from './write-file.ts'

/** The tools that the command line and the demo give a session, confined to `root`. */
export function fileTools(root: string): readonly Tool[] {
  return [
    readFileTool(root),
    listFilesTool(root),
    searchFilesTool(root),
    runCommandTool(root),
    writeFileTool(root),
  ]
}
