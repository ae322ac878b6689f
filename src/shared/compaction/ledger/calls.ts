import { commandKey, isCommit, scriptOf } from './commands.ts'
import type { Entry, ToolCall, ToolResult } from './entries.ts'
import { baseName, isFileName } from './file-names.ts'
import { isRejection } from './injected.ts'
import { targetPath } from './paths.ts'
import { filesWritten, type SimpleCommand, simpleCommands } from './shell.ts'

/** A tool call with what its input and its result say about it. */
export interface CallFacts {
  readonly call: ToolCall
  readonly result: ToolResult | undefined
  readonly outcome: 'ok' | 'failed' | 'rejected' | 'unanswered'
  readonly script: string | undefined
  readonly commands: readonly SimpleCommand[]
  /** The file that the tool was pointed at. */
  readonly target: string | undefined
  /** Files that it writes when it succeeds. */
  readonly edits: readonly string[]
  readonly commits: boolean
  /** Equal for two calls of which the later one repeats the earlier. */
  readonly key: string
}

/** Reads all calls, in order, each with the first result behind it that bears its id. Linear. */
export function readCalls(entries: readonly Entry[], root: string): CallFacts[] {
  const calls: ToolCall[] = []
  const unanswered = new Map<string, ToolCall>()
  const results = new Map<ToolCall, ToolResult>()
  for (const entry of entries) {
    if (entry.kind === 'call') {
      calls.push(entry)
      unanswered.set(entry.callId, entry)
    } else if (entry.kind === 'result') {
      const call = unanswered.get(entry.callId)
      unanswered.delete(entry.callId)
      if (call) results.set(call, entry)
    }
  }
  return calls.map((call) => readCall(call, results.get(call), root))
}

function readCall(call: ToolCall, result: ToolResult | undefined, root: string): CallFacts {
  const script = scriptOf(call.input)
  const commands = script === undefined ? [] : simpleCommands(script)
  const target = script === undefined ? targetOf(call, root) : undefined
  const written =
    script === undefined ? patchedFiles(call.input) : [...filesWritten(script), ...patchedFiles(script)]
  const folder = folderOf(commands)
  const edits = written
    .map((file) => targetPath(within(folder, file), root))
    .filter((file) => file !== undefined)
  if (target !== undefined && edits.length === 0 && writes(call)) edits.push(target)
  return {
    call,
    result,
    outcome: outcomeOf(result),
    script,
    commands,
    target,
    edits,
    commits: commands.some(isCommit),
    key: script === undefined ? `${call.tool} ${target ?? ''}` : commandKey(script, commands),
  }
}

/** The folder that a script changes to before it does anything else. */
function folderOf([first]: readonly SimpleCommand[]): string {
  const [program, folder = ''] = first?.words ?? []
  return program === 'cd' && !/[$`]/.test(folder) ? folder : ''
}

function within(folder: string, file: string): string {
  const absolute = /^(?:[A-Za-z]:)?[\\/]|^~/.test(file)
  return absolute || folder === '' ? file : `${folder.replace(/\/+$/, '')}/${file.replace(/^(?:\.\/)+/, '')}`
}

const EXIT_CODE =
  /(?:^(?:Error: )?Exit code |<returncode>|exit(?:ed)?[ _](?:with )?(?:code|status)"?:? |returned )(-?[1-9]\d*)/i
const EXIT_CODE_WITHIN_CHARS = 200

function outcomeOf(result: ToolResult | undefined): CallFacts['outcome'] {
  if (!result) return 'unanswered'
  if (result.isError) return isRejection(result.text) ? 'rejected' : 'failed'
  const { text } = result
  const failed =
    EXIT_CODE.test(text.slice(0, EXIT_CODE_WITHIN_CHARS)) ||
    EXIT_CODE.test(text.slice(-EXIT_CODE_WITHIN_CHARS))
  return failed ? 'failed' : 'ok'
}

const FILE_KEYS = [
  'file_path',
  'filePath',
  'filepath',
  'notebook_path',
  'target_file',
  'absolute_path',
  'filename',
]
const PATH_KEYS = ['path', 'file', 'relative_path']

function targetOf({ input }: ToolCall, root: string): string | undefined {
  const fields = fieldsOf(input)
  for (const key of FILE_KEYS) {
    const value = fields[key]
    if (typeof value === 'string') return targetPath(value, root)
  }
  for (const key of PATH_KEYS) {
    const value = fields[key]
    if (typeof value === 'string' && isFileName(baseName(value))) return targetPath(value, root)
  }
  return undefined
}

const NEW_TEXT_KEYS =
  /^(?:new_?str(?:ing)?|new_?text|new_?source|content|contents|file_text|insert_text|edits|code_edit|replacement)$/i

function writes({ input }: ToolCall): boolean {
  return Object.keys(fieldsOf(input)).some((key) => NEW_TEXT_KEYS.test(key))
}

const PATCH_FILE = /^\*\*\* (?:Update|Add) File: (.{1,250})$/gm

/** Files of a patch in the format `*** Update File: path`. */
function patchedFiles(input: unknown): string[] {
  const texts = typeof input === 'string' ? [input] : Object.values(fieldsOf(input))
  return texts
    .filter((text) => typeof text === 'string' && text.includes('*** '))
    .flatMap((text) => [...String(text).matchAll(PATCH_FILE)].map((match) => match[1] ?? ''))
}

function fieldsOf(input: unknown): Record<string, unknown> {
  return typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
}
