/** Why a text cannot be read as a transcript. */
export type TranscriptErrorCode =
  /** No character but blanks. */
  | 'empty'
  /** One JSON document that ends before it is complete. */
  | 'cut'
  /** None of the known formats, or a format name that is not known. */
  | 'unknown-format'
  /** The format is known, but no record holds a message of the conversation. */
  | 'no-messages'
  /** The conversation was read, but cannot be played again (`planReplay`). */
  | 'not-replayable'

/** A text that is no readable transcript. The message says what it is, what was got, what is allowed and what to do. */
export class TranscriptError extends Error {
  override readonly name = 'TranscriptError'
  readonly code: TranscriptErrorCode

  constructor(code: TranscriptErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
