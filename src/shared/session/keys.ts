import { KEY_PART_PATTERN } from '../limits.ts'

/**
 * Keys of events: derived from what the event is, never from random ids, run ids or a bare
 * counter, so that a retry, a replay or a reset finds what it wrote before.
 */

/** An id as it may stand in a key: itself when it is plain, its hash otherwise (53 bits, twice, in base 36). */
function keyPart(id: string): string {
  return KEY_PART_PATTERN.test(id) ? id : `h.${hash53(id, 1).toString(36)}${hash53(id, 2).toString(36)}`
}

/** cyrb53 over UTF-16 code units: well spread, pure, and no cryptographic promise is needed inside one session. */
export function hash53(value: string, seed = 0): number {
  let a = 0xdeadbeef ^ seed
  let b = 0x41c6ce57 ^ seed
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i)
    a = Math.imul(a ^ unit, 2654435761)
    b = Math.imul(b ^ unit, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  return 4294967296 * (2097151 & b) + (a >>> 0)
}

/** Whether a header has the key of one that a request asked for. */
export const isConfiguredKey = (key: string): boolean => /^header\.(?:h\.)?[^.]+$/.test(key)

/** Whether a `compact/call` has the key of a call whose answer was not taken. */
export const isLostCallKey = (key: string): boolean => /\.call\.\d+\.lost\.\d+$/.test(key)

const at = (turn: number, step: number) => `t${turn}.s${step}`

export const keys = {
  session: () => 'session',
  life: (life: number) => `life.${life}`,
  /** The first header; what stands for the turn and step that it begins with. */
  header: (digest: string) => `header.${digest}.t0.s0`,
  /** A header that took the place of the one at `seq`: a session may come back to what it had before. */
  headerAfter: (digest: string, seq: number) => `header.${digest}.after.${seq}`,
  /** A header that a request asked for; the other headers' keys have dots behind `header.` and a digest. */
  configured: (requestId: string) => `header.${keyPart(requestId)}`,
  pin: (requestId: string) => `pin.${keyPart(requestId)}`,
  unpin: (requestId: string) => `unpin.${keyPart(requestId)}`,
  close: (requestId: string) => `close.${keyPart(requestId)}`,
  turnStart: (requestId: string) => `turn.${keyPart(requestId)}`,
  prompt: (requestId: string) => `prompt.${keyPart(requestId)}`,
  turnEnd: (turn: number) => `t${turn}.end`,
  /** The end of the turn that the step of a key belongs to. */
  turnEndOf: (keyOfStep: string) => `${keyOfStep.split('.', 1)[0]}.end`,
  stepStart: (turn: number, step: number) => `${at(turn, step)}.start`,
  stepEnd: (turn: number, step: number) => `${at(turn, step)}.end`,
  assistant: (turn: number, step: number) => `${at(turn, step)}.assistant`,
  /** A paid call without a reply, by the attempt that made it: another attempt's is another call. */
  assistantLost: (turn: number, step: number, attempt: string) =>
    `${at(turn, step)}.assistant.lost.${keyPart(attempt)}`,
  /** Further replies of a step, of a workflow that counts steps in its own way. */
  assistantMore: (turn: number, step: number, n: number) => `${at(turn, step)}.assistant.${n}`,
  /** What a user says inside a step, by its place among what was sent and by its content. */
  said: (turn: number, step: number, position: number, content: string) =>
    `${at(turn, step)}.said.${position}.${keyPart(content)}`,
  /** A message that belongs to no turn, the same way. */
  loose: (position: number, content: string) => `loose.${position}.${keyPart(content)}`,
  toolResult: (turn: number, step: number, callId: string) => `${at(turn, step)}.tool.${keyPart(callId)}`,
  toolClaim: (turn: number, step: number, callId: string) =>
    `${at(turn, step)}.tool.${keyPart(callId)}.claim`,
  toolOutput: (turn: number, step: number, callId: string) =>
    `${at(turn, step)}.tool.${keyPart(callId)}.output`,
  shadowPrice: (seq: number) => `shadow.${seq}.price`,
  shadow: (seq: number) => `shadow.${seq}`,
  notice: (id: string) => `notice.${keyPart(id)}`,
  compactStart: (id: string) => `compact.${id}.start`,
  compactCall: (id: string, index: number) => `compact.${id}.call.${index}`,
  compactLostCall: (id: string, index: number, k: number) => `compact.${id}.call.${index}.lost.${k}`,
  compactSummary: (id: string) => `compact.${id}.summary`,
  compactCheckpoint: (id: string) => `compact.${id}.checkpoint`,
  compactEnd: (id: string) => `compact.${id}.end`,
  /** Message `n` that `afterCompaction` gave. */
  compactContext: (id: string, n: number) => `compact.${id}.context.${n}`,
  compactRestore: (id: string) => `compact.${id}.restore`,
} as const

/** Compaction ids: they name why the attempt ran. */
export const compactionIds = {
  pressure: (turn: number, step: number, n: number) => `${at(turn, step)}.pressure.${n}`,
  overflow: (turn: number, step: number, n: number) => `${at(turn, step)}.overflow.${n}`,
  tool: (turn: number, step: number, callId: string) => `${at(turn, step)}.tool.${keyPart(callId)}`,
  manual: (requestId: string) => `manual.${keyPart(requestId)}`,
  region: (requestId: string) => `region.${keyPart(requestId)}`,
} as const
