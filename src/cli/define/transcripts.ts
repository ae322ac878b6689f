import type { Command } from 'commander'
import { action } from '../action.ts'
import { repeated, wholeNumber } from '../option-values.ts'

const FORMATS =
  'Reads Claude Code, Codex, pi, DSH, mini-swe-agent and SWE-agent transcripts, and Anthropic messages; the format is found by itself.'
const windowTokens = wholeNumber(1_000, 100_000_000)

/** Commands on recorded transcripts. */
export function defineTranscriptCommands(program: Command): void {
  program
    .command('replay')
    .argument('<file>', 'a recorded transcript')
    .description('play a recorded transcript through a real session on Temporal, and check all of it')
    .option('--policy <file>', 'compaction policy, JSON')
    .option(
      '--window <tokens>',
      'context window; default: the smallest of 16, 24, 32, 64 thousand in which every message fits',
      windowTokens,
    )
    .addHelpText(
      'after',
      `\n${FORMATS}\nNeeds no key. The server is the one that --address, TEMPORAL_ADDRESS or a running dev names, else one of its own.\n\nExample:\n  durable-compaction replay ~/.claude/projects/my-project/session.jsonl`,
    )
    .action(action(async () => (await import('../commands/replay.ts')).replay))
  program
    .command('simulate')
    .argument('<file-or-session>', 'a recorded transcript, or a session of the store')
    .description('when policies would compact a conversation, and what it would cost; no key, no server')
    .option(
      '--policy <file-or-preset>',
      'JSON file, or default, lean, threeLevel; repeat it to compare',
      repeated,
    )
    .option('--model <provider/model>', 'whose prices', 'anthropic/claude-opus-4-8')
    .option('--window <tokens>', 'its context window', windowTokens, 200_000)
    .option('--prices <file>', 'a price table of your own, JSON')
    .addHelpText(
      'after',
      `\n${FORMATS}\nTokens are estimated as for --model; --model replay/recorded counts them as replay does. A price table: {"date": "2026-06-30", "models": {"acme/large": {"input": 5, "output": 25, "cacheRead": 0.5, "cacheWrite": 6.25}}}, US dollars per million tokens.\n\nExample:\n  durable-compaction simulate session.jsonl --policy default --policy my-policy.json`,
    )
    .action(action(async () => (await import('../commands/simulate.ts')).runSimulate))
}
