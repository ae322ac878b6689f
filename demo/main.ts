import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { readTranscript } from '../src/formats/read-transcript.ts'
import { planReplay } from '../src/formats/replay-plan.ts'
import { say } from './say.ts'

const USAGE = `npm run demo                 a session explores this repository and compacts itself; its worker is killed on the way
npm run demo -- FILE         the same with a recorded transcript (Claude Code keeps them in ~/.claude/projects)
npm run demo -- --levels     the three levels of compaction on a conversation of ten rounds
             -- --keep       leaves server and web page up until Ctrl-C`

const BAD_USAGE = 2
const INTERRUPTED = 130

async function main(): Promise<number> {
  const words = readWords()
  if ('problem' in words) {
    console.error(`${words.problem}\n\n${USAGE}`)
    return BAD_USAGE
  }
  const { help, keep, levels, transcript } = words
  if (help) {
    console.log(USAGE)
    return 0
  }
  const folder = mkdtempSync(join(tmpdir(), 'durable-compaction-demo-'))
  const cleanUp = () => rmSync(folder, { recursive: true, force: true })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      cleanUp()
      process.exit(INTERRUPTED)
    })
  }
  try {
    // Temporal's packages take seconds to load: said before, not after.
    say('Starting Temporal and a worker …')
    if (levels) return await (await import('./levels.ts')).showLevels(folder)
    const { runDemo } = await import('./run-demo.ts')
    const root = fileURLToPath(new URL('..', import.meta.url))
    return await runDemo({ folder, root, keep, ...(transcript === undefined ? {} : { transcript }) })
  } finally {
    cleanUp()
  }
}

interface Words {
  readonly help: boolean
  readonly keep: boolean
  readonly levels: boolean
  /** Path of a transcript that can be played. */
  readonly transcript?: string
}

function readWords(): Words | { readonly problem: string } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        keep: { type: 'boolean', default: false },
        levels: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    const [file] = positionals
    if (file === undefined) return values
    planReplay(readTranscript(readFileSync(file, 'utf8'), { fileName: file }))
    return { ...values, transcript: resolve(file) }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  },
)
