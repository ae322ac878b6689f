import { Context } from '@temporalio/activity'
import { z } from 'zod'

const tallySchema = z.object({ unsent: z.int().nonnegative(), unpaid: z.int().nonnegative() })

/** Of the attempts of an activity that came to an end; whose worker died is in neither count. */
export type Tally = z.infer<typeof tallySchema>

/** What this attempt does; the newest call of a model counts. */
export interface Attempt {
  /** Of the attempts before it. */
  readonly before: Tally
  /** The circuit let no call out. */
  wasHeld: boolean
  mayBePaid: boolean
}

const ATTEMPTS = new WeakMap<Context, Attempt>()

/** The attempt of the activity that runs. */
export function currentAttempt(): Attempt {
  const context = Context.current()
  const known = ATTEMPTS.get(context)
  if (known !== undefined) return known
  const before = tallySchema.safeParse(context.info.heartbeatDetails).data ?? { unsent: 0, unpaid: 0 }
  const attempt = { before, wasHeld: false, mayBePaid: false }
  ATTEMPTS.set(context, attempt)
  return attempt
}

/** Says it to Temporal, which gives it to the next attempt, wherever that runs. Every beat must say it: the newest counts. */
export function beat(context: Context, { unsent, unpaid }: Tally): void {
  context.heartbeat(unpaid === 0 ? undefined : { unsent, unpaid })
}

/** With an attempt that fails now. */
export const tallyAfter = ({ before, wasHeld, mayBePaid }: Attempt): Tally => ({
  unsent: before.unsent + (wasHeld ? 1 : 0),
  unpaid: before.unpaid + (mayBePaid ? 0 : 1),
})

/** Attempts that may have been paid, with this one and those whose worker died: nobody knows how their calls ended. */
export const paidAttempts = ({ before, mayBePaid }: Attempt): number =>
  Context.current().info.attempt - 1 - before.unpaid + (mayBePaid ? 1 : 0)
