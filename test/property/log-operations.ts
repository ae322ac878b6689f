import fc from 'fast-check'

/**
 * Operations on one session, as numbers: what they mean is decided when they run, on the log as it is then, so that most are
 * valid and every rule is broken now and then. Shrinks well.
 */
export interface Operation {
  readonly kind:
    | 'append'
    | 'step'
    | 'copy'
    | 'restore'
    | 'startTurn'
    | 'endTurn'
    | 'openAttempt'
    | 'commitAttempt'
    | 'closeAttempt'
    | 'recordCall'
    | 'takeOver'
    | 'closeSession'
  /** Choose what the operation is about. */
  readonly pick: number
  readonly other: number
  /** 0: as it should be; otherwise one thing is wrong. */
  readonly flaw: number
}

const operation: fc.Arbitrary<Operation> = fc.record({
  kind: fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom('append' as const, 'step' as const) },
    { weight: 12, arbitrary: fc.constantFrom('copy' as const, 'startTurn' as const, 'openAttempt' as const) },
    { weight: 8, arbitrary: fc.constantFrom('commitAttempt' as const, 'endTurn' as const) },
    {
      weight: 4,
      arbitrary: fc.constantFrom('closeAttempt' as const, 'recordCall' as const, 'restore' as const),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('takeOver' as const, 'takeOver' as const, 'closeSession' as const),
    },
  ),
  pick: fc.nat(999),
  other: fc.nat(999),
  flaw: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 9 }) },
  ),
})

export const operations = fc.array(operation, { minLength: 20, maxLength: 50 })
