/** The server takes ten updates of a workflow at once. Of one it refuses the SDK waits a second and more, until the caller's time is over; two are left for other processes. */
export const MOST_UPDATES = 8

interface Place {
  running: number
  readonly waiting: (() => void)[]
}
const places = new WeakMap<object, Map<string, Place>>()

/**
 * Runs what is sent to a session by one client, in the order in which it came, so many at once.
 *
 * @param until ends the wait for a place; what runs is not told of it
 * @throws its reason; what `run` throws
 */
export async function fewAtOnce<T>(
  client: object,
  sessionId: string,
  run: () => Promise<T>,
  until: AbortSignal,
): Promise<T> {
  until.throwIfAborted()
  const ofClient = places.get(client) ?? new Map<string, Place>()
  places.set(client, ofClient)
  const place = ofClient.get(sessionId) ?? { running: 0, waiting: [] }
  ofClient.set(sessionId, place)
  if (place.running < MOST_UPDATES) place.running++
  else await turnOf(place, until)
  try {
    return await run()
  } finally {
    const next = place.waiting.shift()
    if (next !== undefined) next()
    else if (--place.running === 0) ofClient.delete(sessionId)
  }
}

function turnOf({ waiting }: Place, until: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = () => {
      until.removeEventListener('abort', leave)
      resolve()
    }
    const leave = () => {
      waiting.splice(waiting.indexOf(enter), 1)
      reject(until.reason)
    }
    until.addEventListener('abort', leave, { once: true })
    waiting.push(enter)
  })
}
