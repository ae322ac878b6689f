import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readTranscript } from '../../src/formats/read-transcript.ts'
import type { ReadTranscript } from '../../src/formats/transcript.ts'
import type { ContentBlock, ToolResultBlock, ToolUseBlock } from '../../src/shared/session/content.ts'

/** Real sessions stand beside the repository; where they do not, their tests say so in one line and pass. */
const FOLDER = new URL('../../../shared/transcripts/', import.meta.url)

export function testRecorded(path: string, name: string, body: (text: string) => void): void {
  test(`${path}: ${name}`, () => {
    const file = new URL(path, FOLDER)
    if (existsSync(file)) body(readFileSync(file, 'utf8'))
    else console.log(`not checked, no recorded session ../shared/transcripts/${path}`)
  })
}

export const lines = (...records: unknown[]): string => records.map((each) => JSON.stringify(each)).join('\n')

export const blocksOf = ({ messages }: ReadTranscript): ContentBlock[] =>
  messages.flatMap(({ content }) => content)

export const callsOf = (transcript: ReadTranscript): ToolUseBlock[] =>
  blocksOf(transcript).filter((block): block is ToolUseBlock => block.type === 'tool_use')

export const resultsOf = (transcript: ReadTranscript): ToolResultBlock[] =>
  blocksOf(transcript).filter((block): block is ToolResultBlock => block.type === 'tool_result')

/** One line a message: who, from where, and what, so that a whole conversation can be compared at a glance. */
export const outline = ({ messages }: ReadTranscript): string[] =>
  messages.map(
    ({ role, source, content }) =>
      `${role === 'user' ? source : role}: ${content.map(shortBlock).join(' + ')}`,
  )

function shortBlock(block: ContentBlock): string {
  if (block.type === 'text') return String(block['text'])
  if (block.type === 'tool_use') return `call ${String(block['id'])}`
  if (block.type !== 'tool_result') return block.type
  const content = (block as ToolResultBlock).content
  return `result ${String(block['tool_use_id'])} ${typeof content === 'string' ? content : (content ?? []).map(shortBlock).join()}`
}

export const read = (text: string): ReadTranscript => readTranscript(text)
