import type { Drafts } from './draft.ts'
import type { JsonObject } from './json-text.ts'
import type { RecordAccount } from './record-account.ts'

export interface JsonlRecord {
  readonly line: number
  readonly record: JsonObject
}

/** A format of one JSON object a line. Every record is in the account before `read` is called. */
export interface JsonlReader {
  /** The record's type as the report names it. */
  typeOf(record: JsonObject): string
  /** Why a record is left out when `read` says nothing about it. */
  reasonOf(record: JsonObject): string
  read(records: readonly JsonlRecord[], account: RecordAccount): Drafts
}

/** A format that is one JSON document. `read` opens a record in the account for every message, numbered from 1. */
export interface DocumentReader {
  read(document: unknown, account: RecordAccount): Drafts
}
