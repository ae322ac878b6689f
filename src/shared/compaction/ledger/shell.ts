/** Longer scripts are cut: what stands behind is data rather than a command. */
const SCRIPT_MAX_CHARS = 20_000
const UNWRAP_DEPTH = 3

/** One simple command: its words without redirections, and the same words as they were written. */
export interface SimpleCommand {
  readonly words: readonly string[]
  readonly text: string
}

/** The simple commands of a shell script: split at `&& || ; | &` and line ends outside quotes, `bash -c` opened. */
export function simpleCommands(script: string, depth = 0): SimpleCommand[] {
  const commands: SimpleCommand[] = []
  for (const raw of splitWords(dropHeredocs(script.slice(0, SCRIPT_MAX_CHARS)))) {
    const words = dropPrefixes(dropRedirections(raw))
    const inner = depth < UNWRAP_DEPTH ? wrappedScript(words) : undefined
    if (inner !== undefined) commands.push(...simpleCommands(inner, depth + 1))
    else if (words.length > 0) commands.push({ words: words.map(unquote), text: words.join(' ') })
  }
  return commands
}

const HEREDOC = /<<-?[ \t]{0,4}(["']?)([A-Za-z_]\w*)\1/g

function dropHeredocs(script: string): string {
  if (!script.includes('<<')) return script
  const kept: string[] = []
  const waiting: string[] = []
  for (const line of script.split('\n')) {
    if (waiting.length > 0) {
      if (line.trim() === waiting[0]) waiting.shift()
      continue
    }
    for (const match of line.matchAll(HEREDOC)) waiting.push(match[2] ?? '')
    kept.push(line.replace(HEREDOC, ''))
  }
  return kept.join('\n')
}

/** Words of each simple command, quotes kept. `$( … )` and backticks are part of a word. */
function splitWords(script: string): string[][] {
  const commands: string[][] = []
  let words: string[] = []
  let word = ''
  let quote = ''
  let nested = 0
  const endWord = () => {
    if (word !== '') words.push(word)
    word = ''
  }
  const endCommand = () => {
    endWord()
    if (words.length > 0) commands.push(words)
    words = []
  }
  for (let i = 0; i < script.length; i++) {
    const char = script.charAt(i)
    const next = script.charAt(i + 1)
    if (char === '\\' && quote !== "'") {
      if (next !== '\n') word += char + next
      i++
    } else if (quote !== '') {
      if (char === quote) quote = ''
      word += char
    } else if (char === '"' || char === "'" || char === '`') {
      quote = char
      word += char
    } else if (char === '(' && (nested > 0 || script.charAt(i - 1) === '$')) {
      nested++
      word += char
    } else if (char === ')' && nested > 0) {
      nested--
      word += char
    } else if (nested > 0) {
      word += char
    } else if (char === '#' && word === '') {
      while (i + 1 < script.length && script.charAt(i + 1) !== '\n') i++
    } else if (char === '\n' || char === ';' || char === '|' || (char === '&' && !redirects(script, i))) {
      endCommand()
    } else if (char === ' ' || char === '\t' || char === '\r' || char === ')') {
      endWord()
    } else {
      word += char
    }
  }
  endCommand()
  return commands
}

/** The `&` of `2>&1` and `&>file` separates nothing. */
function redirects(script: string, index: number): boolean {
  return script.charAt(index - 1) === '>' || script.charAt(index + 1) === '>'
}

const REDIRECTION = /^(?:\d|&)?(?:>>?\|?|<)(?!\()/

function dropRedirections(words: readonly string[]): string[] {
  const kept: string[] = []
  for (let i = 0; i < words.length; i++) {
    const operator = REDIRECTION.exec(words[i] ?? '')?.[0]
    if (operator === undefined) kept.push((words[i] ?? '').replace(/\d?>>?(?:&\d|\/dev\/null)$/, ''))
    else if (operator === words[i]) i++
  }
  return kept.filter((word) => word !== '')
}

/** Files that a script writes by `>`, `>>`, `tee` or `sed -i`. */
export function filesWritten(script: string): string[] {
  const files: string[] = []
  for (const words of splitWords(dropHeredocs(script.slice(0, SCRIPT_MAX_CHARS)))) {
    words.forEach((word, i) => {
      const target = /^1?>>?(.*)$/s.exec(word)?.[1]
      const file = target === '' ? words[i + 1] : target
      if (file && !/^(?:&|\/dev\/)/.test(file)) files.push(unquote(file))
    })
    const inPlace = words.some((word) => /^-i|^--in-place/.test(word)) && words.includes('sed')
    if (inPlace || words[0] === 'tee') files.push(unquote(words.slice(1).at(-1) ?? ''))
  }
  return files.filter((file) => /^[^-$\s][^$\s]*$/.test(file))
}

const KEYWORDS = new Set(
  'do then else elif if while until ! { } ( time sudo nohup exec command builtin env xargs'.split(' '),
)
const TAKES_A_VALUE = /^-[ugkn]$/

/** Takes away what stands in front of the program: `sudo`, `timeout 30`, `A=b`, `then`. */
function dropPrefixes(words: readonly string[]): string[] {
  let rest = words.map((word, i) => (i === 0 ? word.replace(/^[({]+(?=.)/, '') : word))
  for (;;) {
    const [first = '', second = ''] = rest
    if (KEYWORDS.has(first)) rest = dropFlags(rest.slice(1))
    else if (/^\w+\+?=/.test(first)) rest = rest.slice(1)
    else if (first === 'timeout' || first === 'gtimeout') rest = dropFlags(rest.slice(1)).slice(1)
    else if (first === 'nice' && second.startsWith('-')) rest = dropFlags(rest.slice(1))
    else return rest
  }
}

function dropFlags(words: readonly string[]): string[] {
  let from = 0
  while ((words[from] ?? '').startsWith('-')) from += TAKES_A_VALUE.test(words[from] ?? '') ? 2 : 1
  return words.slice(from)
}

const SHELL = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da)?sh$|^(?:powershell|pwsh)(?:\.exe)?$/
const SCRIPT_FLAG = /^-(?:[a-z]*c|Command)$/

function wrappedScript(words: readonly string[]): string | undefined {
  if (!SHELL.test(words[0] ?? '')) return undefined
  const flag = words.findIndex((word) => SCRIPT_FLAG.test(word))
  const script = flag < 0 ? undefined : words[flag + 1]
  return script === undefined ? undefined : unquote(script).replaceAll('\\"', '"')
}

function unquote(word: string): string {
  return word.replace(/(["'])((?:(?!\1)[\s\S])*)\1/g, '$2')
}
