import type { Anthropic } from '@anthropic-ai/sdk'
import { boundedBody } from '../bounded-body.ts'

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
        return boundedBody(await next(request))
      },
    ],
  }
}
