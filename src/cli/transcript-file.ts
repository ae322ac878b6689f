import { readTranscript } from '../formats/read-transcript.ts'
import type { ReadTranscript, TranscriptFormat } from '../formats/transcript.ts'
import { readTextFile } from './json-file.ts'
import type { Output } from './output.ts'

/** For people. */
export const FORMAT_NAMES: Readonly<Record<TranscriptFormat, string>> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  pi: 'pi',
  dsh: 'session log (of export, or DSH)',
  'mini-swe-agent': 'mini-swe-agent',
  'swe-agent': 'SWE-agent',
  anthropic: 'Anthropic messages',
}

/** A recorded conversation; lines that had to be skipped are named. @throws UsageError, TranscriptError */
export function readTranscriptFile(file: string, output: Output): ReadTranscript {
  const transcript = readTranscript(readTextFile(file), { fileName: file })
  for (const { line, problem } of transcript.report.brokenLines)
    output.progress(`${file}: line ${line} was skipped: ${problem}`)
  return transcript
}
