import { join } from 'node:path'
import type { FaultSessions } from './fault-sessions.ts'
import { type CliRun, runCli, type StartedCli, startCli } from './run-cli.ts'

/** `chat` in processes of its own, over pipes, on the sessions of a test. */
export interface Chats {
  /** Its input is open. */
  open(id: string, ...options: string[]): StartedCli
  /** All lines at once, as from a file. */
  through(id: string, lines: readonly string[], ...options: string[]): Promise<CliRun>
  kill(): void
}

export function chatsOf({ address, folder, taskQueue }: FaultSessions): Chats {
  const started = new Set<StartedCli>()
  const places = ['--address', address, '--store', join(folder, 'sessions.db'), '--task-queue', taskQueue]
  return {
    open(id, ...options) {
      const child = startCli(['chat', id, ...places, ...options], {}, null)
      started.add(child)
      return child
    },
    through: (id, lines, ...options) =>
      runCli(['chat', id, ...places, ...options], {}, `${lines.join('\n')}\n`),
    kill() {
      for (const child of started) child.kill()
    },
  }
}
