import type { SimpleCommand } from './shell.ts'

/** Programs that every agent knows without being told that they were used. */
const COMMON_PROGRAMS = new Set(
  (
    '[ [[ alias awk basename bat break case cat cd chmod chown clear column command comm continue cp cut date declare ' +
    'df diff dir dirname done du echo egrep esac eval exit export expr false fd fgrep fi file find findstr fold for foreach-object format-list format-table function ' +
    'get-childitem get-content get-member git grep group-object gunzip gzip head hostname id if in jobs join kill less let ln local ls ' +
    'md5sum measure-object mkdir mktemp more mv nl od out-file out-null out-string paste pgrep pkill popd printenv printf ps pushd pwd read readlink realpath ' +
    'return rev rg rm rmdir sed select select-object select-string seq set sha256sum shift sleep sort sort-object source stat ' +
    'tac tail tar tee test touch tr trap tree true try type uname uniq unset unzip wait wc where where-object which whoami write-host ' +
    'write-output xxd yes zip . :'
  ).split(' '),
)
const INTERPRETERS =
  /^(?:python[\d.]*|node|deno|bun|tsx|ts-node|ruby|perl|php|lua|elixir|Rscript|(?:ba|z)?sh)$/
const PROGRAM = /^[A-Za-z_.~/][\w.+@~/:-]{0,79}$/
const SUBCOMMAND = /^[A-Za-z][\w:.-]{0,39}$/
const LINE_MAX_CHARS = 160
const LINE_MIN_WORDS = 3

/** `program sub`, such as `gh pr`, `npm run build` or `python -m pytest`; nothing for a program that any agent knows. */
export function commandHead({ words }: SimpleCommand): string | undefined {
  const [program = ''] = words
  if (!PROGRAM.test(program) || COMMON_PROGRAMS.has(program.toLowerCase())) return undefined
  const sub = subcommand(program, words.slice(1))
  return sub ? `${program} ${sub}` : program
}

function subcommand(program: string, rest: readonly string[]): string | undefined {
  const module = rest.indexOf('-m')
  if (module >= 0 && INTERPRETERS.test(program) && rest[module + 1]) return `-m ${rest[module + 1]}`
  const at = rest.findIndex((word) => !word.startsWith('-'))
  const first = rest[at]
  if (first === undefined) return undefined
  const second = rest[at + 1]
  if (first === 'run' && second && /^[\w:./-]{1,60}$/.test(second)) return `run ${second}`
  return SUBCOMMAND.test(first) ? first : undefined
}

/** The whole command as it was written, if it says more than its head and is short enough to repeat. */
export function commandLine(command: SimpleCommand): string | undefined {
  const { words, text } = command
  const short = words.length >= LINE_MIN_WORDS && text.length <= LINE_MAX_CHARS && !text.includes('\n')
  return short && commandHead(command) !== undefined ? text : undefined
}

/** Whether it is a `git commit`, also with options in front of the subcommand. */
export function isCommit({ words }: SimpleCommand): boolean {
  if (words[0] !== 'git') return false
  let sub = 1
  while (words[sub]?.startsWith('-')) sub += /^-[Cc]$/.test(words[sub] ?? '') ? 2 : 1
  return words[sub] === 'commit'
}

/** What makes two failing calls the same: their commands' heads, else the beginning of the script. */
export function commandKey(script: string, commands: readonly SimpleCommand[]): string {
  const heads = new Set(commands.map(commandHead).filter((head) => head !== undefined))
  return heads.size > 0 ? [...heads].sort().join(' & ') : script.trim().slice(0, 60)
}

const SCRIPT_KEYS = ['command', 'cmd', 'script', 'commands', 'shell_command']

/** The shell script in a tool input, if the tool runs one: a string, or an argument vector as Codex writes it. */
export function scriptOf(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null) return undefined
  const fields = input as Record<string, unknown>
  for (const key of SCRIPT_KEYS) {
    const value = fields[key]
    if (typeof value === 'string') return value
    if (Array.isArray(value) && value.every((word) => typeof word === 'string')) {
      const [program = '', flag = '', script = ''] = value
      if (value.length === 3 && /sh$/.test(program) && /^-\w*c$/.test(flag)) return script
      if (value.length > 0) return value.join(' ')
    }
  }
  return undefined
}
