import { z } from 'zod'
import { errorNameOf, SessionError } from '../shared/errors.ts'

/** What the inbox keeps of a request that was refused. */
export const refusedSchema = z.looseObject({ error: z.string() })

/** A refusal as an inbox row keeps it, `Name` or `Name: sentence`. `what` names the request where there is no sentence. */
export function storedRefusal(error: string, what: string): SessionError {
  const [name = '', ...rest] = error.split(': ')
  const why = rest.join(': ')
  if (name === 'Cancelled')
    return new SessionError(name, `${what} was cancelled before it began${why === '' ? '' : `: ${why}`}.`)
  return new SessionError(errorNameOf(name) ?? 'LogRejected', why || `${what} was refused: ${name}.`)
}
