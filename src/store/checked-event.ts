import { z } from 'zod'
import { SessionError } from '../shared/errors.ts'
import { eventDataSchemas, type NewEvent, surfaceOpSchema } from '../shared/session/events.ts'
import { wellFormed } from '../shared/session/well-formed.ts'

/** An event that may be written: of a known shape, well-formed, with its body as JSON. */
export interface CheckedEvent {
  readonly event: NewEvent
  readonly json: string
}

/** Every key of `keys.ts` matches. */
const KEY_PATTERN = /^[\x21-\x7e]{1,300}$/

const place = z.int().positive().nullable()
const envelopeSchema = z.object({
  key: z.string().regex(KEY_PATTERN, 'must be 1 to 300 printable ASCII characters'),
  type: z.enum(Object.keys(eventDataSchemas) as (keyof typeof eventDataSchemas)[]),
  turn: place,
  step: place,
  tokens: z.int().nonnegative(),
  surfaceOp: surfaceOpSchema.optional(),
  sourceEventSeqs: z.array(z.int()).optional(),
})

/** A lone surrogate, as JSON.stringify writes it. */
const ESCAPED_SURROGATE = /\\ud[89a-f][0-9a-f]{2}/

/** @throws SessionError `InvalidInput` that names the event, the field and what is allowed */
export function checkedEvent(event: NewEvent): CheckedEvent {
  const problem =
    firstProblem(envelopeSchema, event) ?? firstProblem(eventDataSchemas[event.type], event.data, 'data')
  if (problem !== undefined) throw invalid(event, problem)
  try {
    const json = JSON.stringify(event.data)
    if (!ESCAPED_SURROGATE.test(json)) return { event, json }
    const mended = { ...event, data: wellFormed(event.data) } as NewEvent
    return { event: mended, json: JSON.stringify(mended.data) }
  } catch (error) {
    throw invalid(event, `data is no JSON (${(error as Error).message})`)
  }
}

export const checkedEvents = (events: readonly NewEvent[]): CheckedEvent[] => events.map(checkedEvent)

function firstProblem(schema: z.ZodType, value: unknown, ...path: string[]): string | undefined {
  const issue = schema.safeParse(value).error?.issues[0]
  return issue === undefined
    ? undefined
    : `${[...path, ...issue.path].map(String).join('.') || 'event'}: ${issue.message}`
}

const invalid = (event: NewEvent, problem: string) =>
  new SessionError(
    'InvalidInput',
    `Event ${JSON.stringify(event.key)} of type ${event.type} cannot be written: ${problem}.`,
  )
