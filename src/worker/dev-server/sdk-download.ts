// A program, started by download-cli.ts: the SDK downloads the CLI only in order to start it, offers no time limit, and
// goes on in the background when nobody waits any more. A process of its own can be ended.
import { Runtime } from '@temporalio/worker'

const [folder, version] = process.argv.slice(2)
if (folder === undefined || version === undefined) throw new TypeError('usage: sdk-download FOLDER VERSION')

try {
  await startOnce(folder, version)
} catch (error) {
  // The SDK's message repeats the address at each of its layers; the innermost says what happened.
  console.error((error as Error).message.split('): ').at(-1))
  process.exitCode = 1
}

async function startOnce(downloadDir: string, cliVersion: string): Promise<void> {
  const runtime = Runtime.instance()
  const server = await runtime.createEphemeralServer({
    type: 'dev-server',
    exe: {
      type: 'cached-download',
      downloadDir,
      version: `v${cliVersion}`,
      ttl: Number.MAX_SAFE_INTEGER,
      sdkName: 'sdk-typescript',
      sdkVersion: cliVersion,
    },
    namespace: 'default',
    ip: '127.0.0.1',
    port: null,
    uiPort: null,
    dbFilename: null,
    ui: false,
    log: { format: 'pretty', level: 'error' },
    extraArgs: [],
  })
  await runtime.shutdownEphemeralServer(server)
}
