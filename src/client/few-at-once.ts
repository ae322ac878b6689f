/** The server takes ten updates of a workflow at once. Of one it refuses the SDK waits a second and more, until the caller's time is over; two are left for other processes. */
export const MOST_UPDATES = 8

interface Place {
  running: number
  readonly waiting: (() => void)[]
}
const places = new WeakMap<object, Map<string, Place>>()

/** Runs what is sent to a session by one client, in the order in which it came, so many at once. */
export async function fewAtOnce<T>(client: object, sessionId: string, run: () => Promise<T>): Promise<T> {
  const ofClient = places.get(client) ?? new Map<string, Place>()
  places.set(client, ofClient)
  const place = ofClient.get(sessionId) ?? { running: 0, waiting: [] }
  ofClient.set(sessionId, place)
  if (place.running < MOST_UPDATES) place.running++
  else await new Promise<void>((resolve) => place.waiting.push(resolve))
  try {
    return await run()
  } finally {
    const next = place.waiting.shift()
    if (next !== undefined) next()
    else if (--place.running === 0) ofClient.delete(sessionId)
  }
}
