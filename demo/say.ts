import pc from 'picocolors'

/** One line of what happens, with the seconds since the demo began. */
export function say(line: string): void {
  const seconds = (performance.now() / 1000).toFixed(1)
  console.log(`${pc.dim(`${seconds.padStart(5)} s`)}  ${line}`)
}
