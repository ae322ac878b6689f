#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { CommanderError } from 'commander'
import pc from 'picocolors'
import { EXIT, errorText, exitCodeOf } from './exit-codes.ts'
import { createProgram } from './program.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

try {
  await createProgram(version).parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed what is wrong; help and version are no errors.
    process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.badUsage
  } else {
    console.error(pc.red(errorText(error)))
    process.exitCode = exitCodeOf(error)
  }
}
// A server or connection that is still closing must not hold the command.
process.exit()
