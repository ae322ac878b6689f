/** Milliseconds of this process's own processor time: what a loaded machine does not stretch. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
