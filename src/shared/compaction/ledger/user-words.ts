import { clip, withCutMark } from './clip.ts'
import type { CountTokens, SaidByUser, UserWords } from './types.ts'

export interface UserWordsInput {
  readonly said: SaidByUser
  readonly budgetTokens: number
  /** Of the budget: for the first messages of the session. */
  readonly startTokens: number
  readonly count: CountTokens
}

export interface SelectedWords {
  readonly text: string
  readonly tokens: number
  /** What the text shows: what the next checkpoint starts from. */
  readonly said: SaidByUser
}

const TITLE = '## The user said (verbatim)'
/** Room for the title and the line that counts what was left out. */
const FRAME_TOKENS = 20
const SMALLEST_CLIP_TOKENS = 24

/** Adds new words. They belong to the start as long as nothing was left out. */
export function addWords(said: SaidByUser, words: readonly UserWords[]): SaidByUser {
  if (said.leftOut > 0) return { ...said, newest: [...said.newest, ...words] }
  return { start: [...said.start, ...said.newest, ...words], newest: [], leftOut: 0 }
}

/**
 * The user's words, verbatim: all of them when they fit, else the first messages within `startTokens`, then from the newest
 * backwards. One message then takes at most half of the budget; a longer one keeps its head and its tail.
 */
export function selectUserWords(input: UserWordsInput): SelectedWords {
  const { said, budgetTokens, startTokens, count } = input
  const words = [...said.start, ...said.newest]
  if (mayCost(words, budgetTokens)) {
    const whole = render(said, count)
    if (whole.tokens <= budgetTokens) return whole
  }
  const most = Math.floor(budgetTokens / 2)
  let room = budgetTokens - FRAME_TOKENS
  let startRoom = Math.min(room, startTokens)
  const cost = (shown: UserWords) => count(quote(shown)) + 1

  const start: UserWords[] = []
  for (const word of said.start) {
    const shown = start.length === 0 ? shorten(word, Math.min(most, startRoom - 1), count) : word
    const tokens = shown && mayCost([shown], startRoom) ? cost(shown) : Number.POSITIVE_INFINITY
    if (!shown || tokens > startRoom) break
    start.push(shown)
    startRoom -= tokens
    room -= tokens
  }
  const newest: UserWords[] = []
  for (const word of words.slice(start.length).reverse()) {
    const shown = shorten(word, Math.min(most, room - 1), count)
    if (!shown) break
    newest.unshift(shown)
    room -= cost(shown)
  }
  const leftOut = said.leftOut + words.length - start.length - newest.length
  return render({ start, newest, leftOut }, count)
}

function render(said: SaidByUser, count: CountTokens): SelectedWords {
  const { start, newest, leftOut } = said
  if (start.length + newest.length === 0) return { text: '', tokens: 0, said }
  const gap = leftOut > 0 ? [`[${leftOut} ${leftOut === 1 ? 'message' : 'messages'} left out]`] : []
  const text = [TITLE, ...start.map(quote), ...gap, ...newest.map(quote)].join('\n')
  return { text, tokens: count(text), said }
}

/** Marks in front of each line keep the user's own headings from looking like those of the checkpoint. */
function quote(words: UserWords): string {
  const cited = words.seq === undefined ? '' : `[#${words.seq}]\n`
  const note = words.note ? `(${words.note}) ` : ''
  return `${cited}${`> ${note}${withCutMark(words)}`.replaceAll('\n', '\n> ')}`
}

/** No text of this length can be worth so few tokens: saves counting very long messages only to leave them out. */
function mayCost(words: readonly UserWords[], tokens: number): boolean {
  return words.reduce((chars, { text }) => chars + text.length, 0) <= tokens * 100
}

function shorten(words: UserWords, limitTokens: number, count: CountTokens): UserWords | undefined {
  const clipped = clip(words, limitTokens, (text) => count(quote({ text, note: words.note, seq: words.seq })))
  if (clipped === words) return words
  return clipped.text === '' || limitTokens < SMALLEST_CLIP_TOKENS ? undefined : { ...words, ...clipped }
}
