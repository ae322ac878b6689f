import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { showLevels } from './levels.ts'
import { runDemo } from './run-demo.ts'

const USAGE = `npm run demo                 a session explores this repository and compacts itself; its worker is killed on the way
npm run demo -- FILE         the same with a recorded transcript (Claude Code keeps them in ~/.claude/projects)
npm run demo -- --levels     the three levels of compaction on a conversation of ten rounds
             -- --keep       leaves server and web page up until Ctrl-C`

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      keep: { type: 'boolean', default: false },
      levels: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const [file] = positionals
  if (values.help) {
    console.log(USAGE)
    return 0
  }
  if (file !== undefined && !existsSync(file)) {
    console.error(`There is no file ${file}.\n\n${USAGE}`)
    return 2
  }
  const folder = mkdtempSync(join(tmpdir(), 'durable-compaction-demo-'))
  try {
    if (values.levels) return await showLevels(folder)
    const root = resolve(fileURLToPath(new URL('..', import.meta.url)))
    return await runDemo({
      folder,
      root,
      keep: values.keep,
      ...(file === undefined ? {} : { transcript: resolve(file) }),
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  },
)
