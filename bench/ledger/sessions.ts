import { existsSync, readFileSync } from 'node:fs'
import { readTranscript } from '../../src/formats/read-transcript.ts'
import type { LedgerMessage } from '../../src/shared/compaction/ledger/types.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'
import { textOf } from './own-recogniser.ts'

export const CORPUS = new URL('../../../shared/transcripts/', import.meta.url)

const FILES = [
  'claude-code/auto-compaction.jsonl',
  'claude-code/manual-compaction.jsonl',
  'claude-code/never-compacted.jsonl',
  'claude-code/broken-line.jsonl',
  'claude-code/resumed-duplicates.jsonl',
  'claude-code/japanese.jsonl',
  'pi/two-compactions.jsonl',
  'mini-swe-agent/huge-tool-result.traj.json',
  'swe-agent/marshmallow-1867.traj',
]

export interface RecordedCut {
  /** Messages before the tail that the agent kept. */
  readonly spanEnd: number
  /** Messages before the compaction. */
  readonly at: number
  readonly summary: string
}

export interface Session {
  readonly name: string
  /** Normalised, with a slash at the end; empty when the file names no folder. */
  readonly root: string
  readonly messages: readonly LedgerMessage[]
  /** Tokens of each message's readable text. */
  readonly tokens: readonly number[]
  readonly compactions: readonly RecordedCut[]
}

/** The recorded conversations, or undefined where the corpus is not there. */
export function loadSessions(): Session[] | undefined {
  return existsSync(CORPUS) ? FILES.map(loadSession) : undefined
}

export function loadSession(file: string): Session {
  const text = readFileSync(new URL(file, CORPUS), 'utf8')
  const { messages: read, report } = readTranscript(text, { fileName: file })
  const messages = read.map(({ role, content, source }) => ({ role, blocks: content, source }))
  const lines = text.split('\n')
  const compactions = report.compactions.map(({ line, atMessage, summary = '' }) => {
    const kept = /"firstKeptEntryIndex":(\d+)/.exec(lines[line - 1] ?? '')?.[1]
    const keptFrom = kept === undefined ? -1 : read.findIndex(({ origin }) => origin.line > Number(kept))
    return { at: atMessage, spanEnd: keptFrom < 0 ? atMessage : keptFrom, summary }
  })
  return {
    name: file.replace(/^(?:claude-code\/)?([^.]+)\..*$/, '$1').replace(/\/.*/, ''),
    root: rootOf(text),
    messages,
    tokens: messages.map((message) => countTokens(textOf([message]))),
    compactions,
  }
}

function rootOf(text: string): string {
  const folder = /"cwd": ?"((?:[^"\\]|\\.)+)"/.exec(text)?.[1]
  return folder === undefined ? '' : `${folder.replaceAll('\\\\', '/').replace(/\/$/, '')}/`
}

export const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, number) => total + number, 0)
