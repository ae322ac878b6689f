/** What came is no reply of this API. */
export class BrokenReply extends Error {
  override readonly name = 'BrokenReply'
}

/** The reply broke off before its end. */
export class CutStream extends Error {
  override readonly name = 'CutStream'
}
