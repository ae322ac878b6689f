import type { Header, ToolDefinition } from '../session/events.ts'

/** Characters of a query. */
export const QUERY_MAX_CHARS = 400

/** Offered to the model when the policy allows it. No worker tool: the session itself answers it from its store. */
export const HISTORY_TOOL: ToolDefinition = {
  name: 'history',
  description:
    'Read back what is no longer in your context: messages that a checkpoint replaced, results that were shortened or cleared, whole outputs. ' +
    'Give one of two. `seq`: the number of an event, as in [#412] or in a marker; you get it word for word, long ones in parts. ' +
    '`query`: a piece of text; you get where it stands, newest first, with its surroundings (no patterns, case does not matter). ' +
    'Use it before you guess a name, a number or a reason that you no longer see.',
  inputSchema: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        maxLength: QUERY_MAX_CHARS,
        description: 'The text to find, as it was written.',
      },
      seq: { type: 'integer', minimum: 0, description: 'The event to read.' },
      from: {
        type: 'integer',
        minimum: 0,
        description: 'Go on where an answer ended: the number that it names.',
      },
    },
    additionalProperties: false,
  },
}

/** Whether the model can read back what left the surface. */
export const offersHistory = ({ tools }: Pick<Header, 'tools'>): boolean =>
  tools.some(({ name }) => name === HISTORY_TOOL.name)

/** How a marker names the event that holds what it stands for. */
export const readBack = (seq: number, what: string, historyTool: boolean): string =>
  historyTool ? `${HISTORY_TOOL.name} {"seq": ${seq}} reads ${what}` : `${what} is event #${seq}`
