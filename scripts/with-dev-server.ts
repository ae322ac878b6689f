import { spawn } from 'node:child_process'
import { obtainServer } from '../src/worker/dev-server/obtain-server.ts'

// Runs a command with a Temporal server, whose address it finds in TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE:
//   node --import tsx scripts/with-dev-server.ts [--ui] COMMAND [ARGUMENT …]

const [ui, command, ...args] =
  process.argv[2] === '--ui' ? [true, ...process.argv.slice(3)] : [false, ...process.argv.slice(2)]
if (typeof command !== 'string') throw new RangeError('usage: with-dev-server [--ui] COMMAND [ARGUMENT …]')

// The command gets the signals of the terminal as we do; the server ends after it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child?.kill(signal))
let child: ReturnType<typeof spawn> | undefined

const server = await obtainServer({ ui, onProgress: console.error })
console.error(`Temporal server: ${server.address}${server.uiUrl === null ? '' : `, UI: ${server.uiUrl}`}`)
child = spawn(command, args, {
  stdio: 'inherit',
  env: { ...process.env, TEMPORAL_ADDRESS: server.address, TEMPORAL_NAMESPACE: server.namespace },
})
process.exitCode = await new Promise<number>((resolve) => {
  child?.once('exit', (code) => resolve(code ?? 1))
  child?.once('error', (error) => {
    console.error(`${command} does not run: ${error.message}`)
    resolve(127)
  })
})
await server.stop()
