import { errorNameOf, SessionError } from '../shared/errors.ts'

/** A refusal as an inbox row keeps it, `Name` or `Name: sentence`. `what` names the request where there is no sentence. */
export function storedRefusal(error: string, what: string): SessionError {
  const [name = '', ...rest] = error.split(': ')
  return new SessionError(
    errorNameOf(name) ?? 'LogRejected',
    rest.join(': ') || `${what} was refused: ${name}.`,
  )
}
