/** Far more than any reply has: a body that grows beyond it is no reply, whatever its length was said to be. */
const MOST_BYTES = 64 * 1024 * 1024

/** The same response, whose body ends with the error `TooLargeReply` beyond 64 MiB, also when it was packed small. */
export function boundedBody(response: Response): Response {
  if (response.body === null) return response
  let bytes = 0
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      if (bytes > MOST_BYTES) controller.error(tooLarge())
      else controller.enqueue(chunk)
    },
  })
  const { status, statusText, headers } = response
  return new Response(response.body.pipeThrough(counter), { status, statusText, headers })
}

const tooLarge = () =>
  Object.assign(new Error(`The response has more than ${MOST_BYTES} bytes`), { name: 'TooLargeReply' })
