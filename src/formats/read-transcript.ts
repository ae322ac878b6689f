import { anthropic } from './anthropic.ts'
import { toolName } from './call-registry.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { buildConversation } from './conversation.ts'
import { detectFormat } from './detect-format.ts'
import { type Drafts, present } from './draft.ts'
import { dsh } from './dsh.ts'
import { TranscriptError } from './errors.ts'
import type { DocumentReader, JsonlReader, JsonlRecord } from './format-reader.ts'
import { parseJson, readLines } from './json-text.ts'
import { miniSweAgent } from './mini-swe-agent.ts'
import { pi } from './pi.ts'
import { REPEATED, RecordAccount } from './record-account.ts'
import { sweAgent } from './swe-agent.ts'
import {
  type ReadMessage,
  type ReadReport,
  type ReadTool,
  type ReadTranscript,
  TRANSCRIPT_FORMATS,
  type TranscriptFormat,
} from './transcript.ts'

const JSONL_READERS: Partial<Record<TranscriptFormat, JsonlReader>> = {
  'claude-code': claudeCode,
  codex,
  pi,
  dsh,
}
const DOCUMENT_READERS: Partial<Record<TranscriptFormat, DocumentReader>> = {
  'mini-swe-agent': miniSweAgent,
  'swe-agent': sweAgent,
  anthropic,
}

export interface ReadOptions {
  /** Default: found by `detectFormat`. */
  readonly format?: TranscriptFormat
  /** Helps to find the format, and names the file in errors. */
  readonly fileName?: string
}

/**
 * Reads a recorded transcript into one conversation, with a report of everything that was taken, merged and left out.
 * Pure; linear in the text.
 *
 * @throws TranscriptError when the text is empty, cut, of no known format, or holds no message. Nothing else.
 */
export function readTranscript(text: string, options: ReadOptions = {}): ReadTranscript {
  const name = options.fileName ?? 'transcript'
  if (text.trim() === '') throw new TranscriptError('empty', `${name} is empty: a recorded session is needed`)
  const format = options.format ?? detectFormat(text, options.fileName)
  if (format === null) throw unknownFormat(text, name)
  const account = new RecordAccount()
  const brokenLines: { line: number; problem: string }[] = []
  const drafts = readDrafts(text, format, name, account, brokenLines)
  const { messages, compactions, unansweredCalls, changes } = buildConversation(drafts.drafts, account)
  const report: ReadReport = {
    lines: account.size,
    records: account.counts(),
    brokenLines,
    sideChains: drafts.sideChains ?? [],
    compactions,
    unansweredCalls,
    duplicateMessages: account.countOf(REPEATED),
    changes,
  }
  if (messages.length === 0) throw noMessages(name, format, report)
  return {
    format,
    ...present({ system: drafts.system }),
    tools: allTools(drafts.tools ?? [], messages),
    messages,
    report,
  }
}

function readDrafts(
  text: string,
  format: TranscriptFormat,
  name: string,
  account: RecordAccount,
  brokenLines: { line: number; problem: string }[],
): Drafts {
  const documentReader = DOCUMENT_READERS[format]
  if (documentReader) {
    const parsed = parseJson(text)
    if ('problem' in parsed) throw cut(name, parsed.problem)
    return documentReader.read(parsed.value, account)
  }
  const reader = JSONL_READERS[format]
  if (reader === undefined) throw unknownName(format)
  const records: JsonlRecord[] = []
  for (const each of readLines(text)) {
    if (each.kind === 'record') {
      account.open(each.line, reader.typeOf(each.record), reader.reasonOf(each.record))
      records.push(each)
    } else if (each.kind === 'comment') account.open(each.line, '(comment)', 'a comment')
    else {
      account.open(each.line, '(broken line)', 'not to be parsed')
      brokenLines.push({ line: each.line, problem: each.problem })
    }
  }
  return reader.read(records, account)
}

/** The called tools too: a session that plays the calls again needs a tool for each. */
function allTools(declared: readonly ReadTool[], messages: readonly ReadMessage[]): ReadTool[] {
  const tools = new Map<string, ReadTool>()
  for (const tool of declared) {
    const name = toolName(tool.name)
    tools.set(name, { ...tool, name })
  }
  for (const { content } of messages)
    for (const block of content)
      if (block.type === 'tool_use') {
        const name = toolName(String(block['name']))
        if (!tools.has(name)) tools.set(name, { name })
      }
  return [...tools.values()]
}

const allowed = `the known formats are ${TRANSCRIPT_FORMATS.join(', ')}`

function unknownFormat(text: string, name: string): TranscriptError {
  const parsed = /^\s*[[{]/.test(text) ? parseJson(text) : { value: undefined }
  const isLines = [...readLines(text)].some((line) => line.kind === 'record')
  if ('problem' in parsed && !isLines) return cut(name, parsed.problem)
  const start = JSON.stringify(text.trimStart().slice(0, 60))
  return new TranscriptError(
    'unknown-format',
    `${name} is no known transcript, it begins ${start}: ${allowed}`,
  )
}

const unknownName = (format: string) =>
  new TranscriptError(
    'unknown-format',
    `transcript format ${JSON.stringify(format)} is not known: ${allowed}`,
  )

const cut = (name: string, problem: string) =>
  new TranscriptError('cut', `${name} is no complete JSON document (${problem}): record or copy it again`)

function noMessages(name: string, format: TranscriptFormat, report: ReadReport): TranscriptError {
  const types = Object.keys(report.records).slice(0, 8).join(', ') || 'none'
  const got = `${report.lines} records (${types})`
  return new TranscriptError(
    'no-messages',
    `${name} holds no message as ${format}, got ${got}: choose the session's own file`,
  )
}
