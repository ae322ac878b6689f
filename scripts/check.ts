import { spawn } from 'node:child_process'
import { join } from 'node:path'

// `npm run check`: format and lint, types, dead code, import table, acceptance tables, contract. Prints nothing when all is well, and otherwise what
// each failed check said.

const CHECKS: readonly { name: string; program: string; args: readonly string[] }[] = [
  {
    name: 'format and lint',
    program: '@biomejs/biome/bin/biome',
    args: ['check', '--error-on-warnings', '--max-diagnostics=200', '.'],
  },
  { name: 'types', program: 'typescript/bin/tsc', args: ['--project', '.'] },
  // Declarations can fail where the code does not: an exported value whose type has no name that others can write.
  {
    name: 'types of the package',
    program: 'typescript/bin/tsc',
    args: ['--project', 'tsconfig.build.json', '--noEmit'],
  },
  { name: 'dead code', program: 'knip/bin/knip.js', args: ['--no-progress'] },
  { name: 'imports', program: 'tsx/dist/cli.mjs', args: ['scripts/check-imports.ts'] },
  { name: 'acceptance', program: 'tsx/dist/cli.mjs', args: ['scripts/acceptance.ts', '--check'] },
  { name: 'contract', program: 'tsx/dist/cli.mjs', args: ['scripts/write-contract.ts', '--check'] },
]

const results = await Promise.all(
  CHECKS.map(async ({ name, program, args }) => ({ name, ...(await runProgram(program, args)) })),
)
for (const { name, code, output } of results) {
  if (code === 0) continue
  console.error(`── ${name} ──\n${output.trim()}\n`)
  process.exitCode = 1
}

async function runProgram(
  program: string,
  args: readonly string[],
): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [join('node_modules', program), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const code = await new Promise<number>((resolve) => child.once('close', (exit) => resolve(exit ?? 1)))
  return { code, output: Buffer.concat(chunks).toString() }
}
