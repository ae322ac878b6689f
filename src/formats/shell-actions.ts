const OPENING = /```(?:bash|mswea_bash_command)$/

/**
 * The commands in the fenced shell blocks of a reply, as mini-swe-agent finds them: the opening fence ends its line, the
 * closing one begins its own, and a block without a line is none. Linear in the text.
 */
export function shellActions(reply: string): string[] {
  const actions: string[] = []
  let block: string[] | undefined
  for (const line of reply.split('\n')) {
    if (block === undefined) {
      if (OPENING.test(line.trimEnd().slice(-30))) block = []
    } else if (line.startsWith('```')) {
      if (block.length > 0) actions.push(block.join('\n').trim())
      block = undefined
    } else block.push(line)
  }
  return actions
}
