import { BrokenReply } from './reply-errors.ts'

/** @throws BrokenReply for an answer that says of itself that it is no stream: a page of a proxy, a whole message */
export function requireEvents(response: Response): void {
  const type = response.headers.get('content-type') ?? 'none'
  if (type.includes('text/event-stream')) return
  response.body?.cancel().catch(() => undefined)
  throw new BrokenReply(`the answer is no stream of events, its content type is ${JSON.stringify(type)}`)
}
