import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { z } from 'zod'

/** A message of the wire with every field that it can have. */
export interface WireSample {
  readonly schema: z.ZodType
  readonly full: unknown
  /** Paths of the fields that may be absent. */
  readonly optional: readonly string[]
  /** Paths of objects that are the caller's own: any field may stand in them. */
  readonly open: readonly string[]
}

/** @param optional - paths with dots, separated by spaces; an element of a list has the list's path */
export const sample = <S extends z.ZodType>(
  schema: S,
  full: z.input<S>,
  optional = '',
  open = '',
): WireSample => ({ schema, full, optional: optional.split(' '), open: open === '' ? [] : open.split(' ') })

interface Change {
  readonly what: string
  readonly changed: unknown
  readonly fits: boolean
}

/** The sample without each of its fields, with a field too many in each object, and with each value of a wrong type. */
function changesOf({ full, optional, open }: WireSample): Change[] {
  const changes = (value: unknown, path: string, put: (changed: unknown) => unknown): Change[] => {
    if (Array.isArray(value))
      return value.flatMap((element, at) => changes(element, path, (changed) => put(value.with(at, changed))))
    if (typeof value !== 'object' || value === null)
      return [{ what: `${path} of a wrong type`, changed: put(() => value), fits: false }]
    const fields = value as Readonly<Record<string, unknown>>
    const more = {
      what: `${path} with one field more`,
      changed: put({ ...fields, more: 1 }),
      fits: open.includes(path),
    }
    if (more.fits) return [more, { what: `${path} of a wrong type`, changed: put(7), fits: false }]
    return [
      more,
      ...Object.keys(fields).flatMap((name) => {
        const below = path === '' ? name : `${path}.${name}`
        const { [name]: _, ...others } = fields
        return [
          { what: `without ${below}`, changed: put(others), fits: optional.includes(below) },
          ...changes(fields[name], below, (changed) => put({ ...fields, [name]: changed })),
        ]
      }),
    ]
  }
  return changes(full, '', (changed) => changed)
}

/** Every sample arrives as it was, and nothing that differs in one field does. */
export function testSamples(what: string, samples: Readonly<Record<string, WireSample>>): void {
  describe(what, () => {
    for (const [name, wireSample] of Object.entries(samples)) {
      const { schema, full } = wireSample
      test(`${name}: with all fields it arrives as it was`, () => assert.deepEqual(schema.parse(full), full))
      test(`${name}: what is missing, too much or of a wrong type is refused`, () => {
        for (const { what, changed, fits } of changesOf(wireSample))
          assert.equal(schema.safeParse(changed).success, fits, what)
      })
    }
  })
}
