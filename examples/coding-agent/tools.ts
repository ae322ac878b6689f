import { fileTools } from 'durable-compaction/worker'
import { editFileTool } from './edit-file-tool.ts'

/** Read, list, search, write and run come with the package; edit is this example's own. Files are confined to the folder, commands only begin in it. */
export const codingTools = (root: string) => [...fileTools(root, { commandEnv }), editFileTool(root)]

/** Commands have PATH, HOME and the like; what else a project's build needs is named, and keys are never among it. */
const commandEnv = process.env['AGENT_COMMAND_ENV']?.split(',') ?? []
