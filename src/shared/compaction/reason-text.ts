const REASONS: Readonly<Record<string, string>> = {
  empty: 'there is no message yet',
  'only-tail': 'only the newest part is there, which always stays as it is',
  'only-checkpoint': 'what could be replaced is a checkpoint already',
  'too-small': 'a checkpoint would hardly be shorter than what it replaces',
  'below-threshold': 'there is room enough',
  held: 'automatic compaction pauses, since the last ones did not help',
  overhead: 'system prompt and tools alone reach the limit',
  'budget-spent': "the policy's compactionBudget is used up",
  busy: 'another compaction was running',
  refused: 'a hook of the worker refused it',
}

/** Why an attempt found nothing to do, for people. */
export const reasonText = (reason: string): string => REASONS[reason] ?? reason
