import { Context } from '@temporalio/activity'
import { z } from 'zod'

const tallySchema = z.object({ unsent: z.int().nonnegative(), unpaid: z.int().nonnegative() })

/** Of the attempts of an activity that came to an end; whose worker died is in neither count. */
export type Tally = z.infer<typeof tallySchema>

/** What has come of this attempt so far. It may call several models. */
export interface Attempt {
  /** Of the attempts before it. */
  readonly before: Tally
  /** Its newest call: the circuit held it back, it is on its way or answered, or the provider refused it. */
  newest: 'none' | 'held' | 'sent' | 'refused'
  /** One of its calls was refused. */
  hasRefused: boolean
  /** One of its calls broke off, and may have been paid. */
  hasLost: boolean
}

const ATTEMPTS = new WeakMap<Context, Attempt>()

/** The attempt of the activity that runs. */
export function currentAttempt(): Attempt {
  const context = Context.current()
  const known = ATTEMPTS.get(context)
  if (known !== undefined) return known
  const before = tallyBefore(context)
  const attempt: Attempt = { before, newest: 'none', hasRefused: false, hasLost: false }
  ATTEMPTS.set(context, attempt)
  return attempt
}

/**
 * What the attempts before have said. Nothing: of them nothing is known, as when a worker of an older release made them, and they count as free. No more
 * than there were: an activity that is reset begins again at 1 and keeps what was said.
 */
function tallyBefore({ info }: Context): Tally {
  const most = info.attempt - 1
  const { unsent, unpaid } = tallySchema.safeParse(info.heartbeatDetails).data ?? { unsent: 0, unpaid: most }
  return { unsent: Math.min(unsent, most), unpaid: Math.min(unpaid, most) }
}

/** Says it to Temporal, which gives it to the next attempt, wherever that runs. Every beat must say it: the newest counts. */
export function beat(context: Context, { unsent, unpaid }: Tally): void {
  context.heartbeat({ unsent, unpaid })
}

/** With an attempt that fails now. */
export function tallyAfter(attempt: Attempt): Tally {
  const { before, newest, hasRefused, hasLost } = attempt
  const wasHeld = newest === 'held' && !hasRefused && !hasLost
  return {
    unsent: before.unsent + (wasHeld ? 1 : 0),
    unpaid: before.unpaid + (mayBePaid(attempt) ? 0 : 1),
  }
}

/** Whether a call of this attempt was paid, or may have been, and left nothing. */
export const mayBePaid = ({ newest, hasLost }: Attempt): boolean => hasLost || newest === 'sent'

/** Attempts that may have been paid, with this one and those whose worker died: nobody knows how their calls ended. */
export const paidAttempts = (attempt: Attempt): number =>
  Context.current().info.attempt - 1 - attempt.before.unpaid + (mayBePaid(attempt) ? 1 : 0)
