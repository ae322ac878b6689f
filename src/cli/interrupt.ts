const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Ctrl-C, or a supervisor's SIGTERM, aborts the signal. The second one ends the process at once, as it would without us. The reason of the abort is text, for the log. */
export function untilInterrupted(): AbortSignal {
  const stop = new AbortController()
  const abort = (by: NodeJS.Signals) => {
    for (const signal of SIGNALS) process.removeListener(signal, abort)
    stop.abort(by === 'SIGINT' ? 'Ctrl-C' : by)
  }
  for (const signal of SIGNALS) process.on(signal, abort)
  return stop.signal
}
