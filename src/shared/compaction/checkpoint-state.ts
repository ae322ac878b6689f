import { z } from 'zod'
import { ledgerStateSchema } from './ledger/state.ts'

/** A text that stands in every checkpoint, byte for byte. */
export const pinSchema = z.strictObject({
  /** Unique among the pins of a session; `session/unpin` names it. */
  id: z.string(),
  /** The policy, `<keep>` in a user's prompt, a pinned tool's result, or a `session/pin` event. */
  source: z.enum(['policy', 'keep', 'tool', 'session']),
  text: z.string().min(1),
  /** The event that it comes from. */
  seq: z.int().nonnegative().optional(),
  /** The tool's name, for source `tool`. */
  tool: z.string().optional(),
})
export type Pin = z.infer<typeof pinSchema>

/** What a checkpoint carries to the next one, by code, in `compact/summary.ledger`. */
export const checkpointStateSchema = z.strictObject({
  ...ledgerStateSchema.shape,
  /** All but those of the policy, which are read from the policy each time. */
  pins: z.array(pinSchema),
  /** What the checkpoint stands for, earlier checkpoints in it resolved. Tokens are of our counter. */
  covers: z.strictObject({
    messages: z.int().nonnegative(),
    tokens: z.int().nonnegative(),
    firstSeq: z.int().nonnegative(),
    lastSeq: z.int().nonnegative(),
    /** The newest events among them that hold images or documents, oldest first. Absent: none does. */
    media: z.array(z.int().nonnegative()).optional(),
  }),
})
export type CheckpointState = z.infer<typeof checkpointStateSchema>
