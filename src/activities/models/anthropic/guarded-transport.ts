import type { Anthropic } from '@anthropic-ai/sdk'

/** Far more than any reply has: a body that grows beyond it is no reply, whatever its length was said to be. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024

type RequestOptions = NonNullable<Parameters<Anthropic['messages']['create']>[1]>

/**
 * What every request of ours adds to the client's own options: betas of the session join those of the client instead of replacing them, no redirect is
 * followed, since key and prompt would go to another host, and no body is read without an end.
 */
export function guardedTransport(
  betas: readonly string[] = [],
): Pick<RequestOptions, 'fetchOptions' | 'middleware'> {
  return {
    fetchOptions: { redirect: 'manual' },
    middleware: [
      async (request, next) => {
        const own = request.headers as Headers
        const all = [
          ...new Set([...(own.get('anthropic-beta') ?? '').split(','), ...betas].map((name) => name.trim())),
        ]
        const named = all.filter((name) => name !== '')
        if (named.length > 0) own.set('anthropic-beta', named.join(','))
        return bounded(await next(request))
      },
    ],
  }
}

function bounded(response: Response): Response {
  if (response.body === null) return response
  let bytes = 0
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      if (bytes > MAX_RESPONSE_BYTES)
        controller.error(new Error(`The response has more than ${MAX_RESPONSE_BYTES} bytes.`))
      else controller.enqueue(chunk)
    },
  })
  const { status, statusText, headers } = response
  return new Response(response.body.pipeThrough(counter), { status, statusText, headers })
}
