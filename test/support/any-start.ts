import type { StartOptions } from '../../src/client/start-session.ts'

/** Options of a start whose policy is whatever a program without types may give. */
export type AnyStart = Omit<StartOptions, 'policy'> & { readonly policy?: Readonly<Record<string, unknown>> }
