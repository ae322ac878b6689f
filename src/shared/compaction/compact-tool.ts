import { LIMITS } from '../limits.ts'
import type { ToolDefinition } from '../session/events.ts'

/** Offered to the model when the policy allows it. No worker tool: the session itself answers it. */
export const COMPACT_TOOL: ToolDefinition = {
  name: 'compact',
  description:
    'Replace the older part of this conversation by a short checkpoint, to make room. Use it when a piece of work is finished and its details ' +
    '(tool outputs, dead ends) are no longer needed, before a new phase begins. Not needed for the limit itself: that is handled for you. ' +
    'With `focus` you say what must stay, for example "keep the API design decisions".',
  inputSchema: {
    type: 'object',
    properties: {
      focus: { type: 'string', maxLength: LIMITS.focusChars, description: 'What the checkpoint must keep.' },
    },
    additionalProperties: false,
  },
}
