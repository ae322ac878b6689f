#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { CommanderError } from 'commander'
import { EXIT, exitCodeOf, failureText } from './exit-codes.ts'
import { createProgram } from './program.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}
const json = process.argv.includes('--json')

// Whoever reads our output may stop early, as in `export … | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

try {
  await createProgram(version, { json }).parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed help, version or what is wrong; the first two are no errors.
    process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.badUsage
  } else {
    console.error(failureText(error, { json }))
    process.exitCode = exitCodeOf(error)
  }
}
// A server or connection that is still closing must not hold the command; what was printed must be out.
await new Promise((printed) => process.stdout.write('', printed))
process.exit()
