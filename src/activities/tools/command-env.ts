import { SessionError } from '../../shared/errors.ts'

/** What programs need to be found, to find their files, and to speak the user's language. */
const PASSED = /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|TMPDIR|TZ|LANG|LANGUAGE|LC_\w+)$/

/** What pays for the worker's own models. No command needs it, and what a command prints is written into the log. */
const MODEL_KEY =
  /^(?:ANTHROPIC|OPENAI)_(?:API_KEY|AUTH_TOKEN|ADMIN_KEY|IDENTITY_TOKEN|CUSTOM_HEADERS|WEBHOOK_\w+)$/

const NAME = /^[A-Za-z_]\w*$/

/** Of the worker's environment, as it is now, what a command gets: a list of what may pass, since no list of secrets is complete. */
export const commandEnv = (alsoPassed: readonly string[]): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => PASSED.test(name) || alsoPassed.includes(name)),
  )

/** @throws SessionError `InvalidInput` for what is no name, or names a key of a model */
export function checkPassed(names: readonly string[]): void {
  for (const name of names) {
    if (!NAME.test(name))
      throw new SessionError(
        'InvalidInput',
        `commandEnv has names of environment variables, such as JAVA_HOME, got ${JSON.stringify(name)}. Values come from the worker's environment.`,
      )
    if (MODEL_KEY.test(name))
      throw new SessionError(
        'InvalidInput',
        `commandEnv may not have ${name}: no command gets the key of the worker's models, since what it prints goes to the model and into the store.`,
      )
  }
}
