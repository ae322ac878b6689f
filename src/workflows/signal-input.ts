import {
  defaultPayloadConverter,
  type RawValue,
  rawValueTypeInfo,
  type SignalDefinition,
} from '@temporalio/common'
import { defineSignal } from '@temporalio/workflow'
import type { z } from 'zod'
import { problemOf } from '../shared/protocol.ts'

// Signals reach their handler undecoded: what the SDK cannot decode would fail the workflow task again and again, and nobody could get past it.
// They are read with the default converter; a client with another one sends a `RawValue`.

export const undecodedSignal = (name: string): SignalDefinition<[RawValue?]> =>
  defineSignal<[RawValue?]>(name, { typeInfo: { inputTypes: [rawValueTypeInfo] } })

export type SignalInput<T> = { readonly message: T } | { readonly problem: string }

/** Decodes and checks a signal. One without an argument is an empty object, as a person sends it from the Temporal UI. */
export function readSignal<T>(raw: RawValue | undefined, schema: z.ZodType<T>, name: string): SignalInput<T> {
  let value: unknown
  try {
    value = raw === undefined ? undefined : defaultPayloadConverter.fromPayload(raw.payload)
  } catch (error) {
    return { problem: `${name}: not readable: ${error instanceof Error ? error.message : String(error)}` }
  }
  const message = value ?? {}
  const problem = problemOf(schema, message, name)
  return problem === undefined ? { message: schema.parse(message) } : { problem }
}
