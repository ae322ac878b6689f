import { formatTable } from '../src/cli/table.ts'
import { text } from '../src/shared/session/content.ts'
import { cacheShares, shareOf } from '../test/support/anthropic/cache-shares.ts'
import { openWire } from '../test/support/anthropic/wire.ts'
import { openStagedSession } from '../test/support/staged-session.ts'

interface Row {
  readonly what: string
  readonly steps: number
  readonly wordsPerResult: number
  readonly window: number
  readonly policy?: Readonly<Record<string, unknown>>
}

const LEAST_SHARE = 0.95

/** What the provider's prompt cache reads, over HTTP, from the bytes that were sent. The first row has a bound: nothing was cleared or compacted on the way. */
export async function benchCacheShare(short: boolean): Promise<string[]> {
  const steps = short ? 30 : 50
  const rows: readonly Row[] = [
    { what: 'small results', steps, wordsPerResult: 200, window: 400_000 },
    { what: 'old results cleared on the way', steps, wordsPerResult: 1_500, window: 400_000 },
    {
      what: 'compacted on the way',
      steps,
      wordsPerResult: 1_500,
      window: 64_000,
      policy: { micro: false, prune: false },
    },
  ]
  const measured = []
  for (const row of rows) measured.push(await measure(row))
  console.log('\nPrompt cache, shares of the bytes of all requests\n')
  const share = (value: number) => value.toFixed(3)
  console.log(
    formatTable(
      ['session', 'requests', 'compactions', 'repeated', 'read from cache', 'read by summaries', 'marks'],
      measured.map(({ what, turns, summaries, marks }) => [
        what,
        turns.length,
        summaries.length,
        share(shareOf(turns, 'repeated')),
        share(shareOf(turns, 'read')),
        share(shareOf(summaries, 'read')),
        marks,
      ]),
    ),
  )
  const [plain] = measured
  if (plain === undefined) return []
  const least = Math.min(shareOf(plain.turns, 'read'), shareOf(plain.summaries, 'read'))
  const bound = short ? LEAST_SHARE - 0.03 : LEAST_SHARE
  return least >= bound
    ? []
    : [`prompt cache: ${share(least)} of the bytes are read, at least ${bound} must be`]
}

async function measure({ what, steps, wordsPerResult, window, policy = {} }: Row) {
  const wire = await openWire()
  const session = await openStagedSession({
    wire,
    window,
    policy,
    reply: ({ index }) =>
      index < steps
        ? {
            content: [
              text(`I look, ${index}.`),
              { type: 'tool_use', id: `c${index}`, name: 'look', input: { path: `${index}.ts` } },
            ],
          }
        : 'All was looked at.',
    tools: [
      {
        name: 'look',
        description: 'Looks.',
        input: { jsonSchema: { type: 'object' } },
        run: async () => 'word '.repeat(wordsPerResult),
      },
    ],
  })
  await session.say('Look at everything.')
  await session.compact()
  await session.sound()
  const shares = cacheShares(wire.asked.map(({ body }) => body))
  const of = (purpose: string) => shares.filter((_, at) => wire.asked[at]?.purpose === purpose)
  wire.close()
  return {
    what,
    turns: of('turn'),
    summaries: of('summary'),
    marks: Math.max(...shares.map(({ marks }) => marks)),
  }
}
