import pc from 'picocolors'
import { watchSession } from '../../client/watch.ts'
import type { SessionEvent } from '../../shared/session/events.ts'
import type { Run } from '../action.ts'
import { drawBesideText, drawEvent, printable } from '../draw-event.ts'
import { untilInterrupted } from '../interrupt.ts'
import { usageText } from '../prices.ts'

/** Live text is for a person who looks at it: in a pipe whole messages are enough. */
const showsLiveText = () => process.stdout.isTTY === true

/** What was paid is said when a turn or a compaction ends, and again when a call that was cut short is counted. */
const SAYS_PAID: ReadonlySet<SessionEvent['type']> = new Set(['turn/end', 'assistant/lost', 'compact/end'])

export const watch: Run<{ readonly after?: number }> = async (setting, [id = ''], options) => {
  const { output } = setting
  const { store, row } = await setting.stored(id)
  const after = options.after ?? row.head - 1
  output.progress(`Watching ${id} from #${after + 1}; Ctrl-C ends it.`)
  let last = after
  let inLiveText = false
  let textOf: string | undefined
  for await (const seen of watchSession(store, id, { after, signal: untilInterrupted() })) {
    if (output.json) console.log(JSON.stringify(seen))
    else if (seen.kind === 'event') {
      const drawn = seen.event.key === textOf ? drawBesideText(seen.event) : drawEvent(seen.event)
      console.log(`${inLiveText ? '\n' : ''}${drawn}`)
      inLiveText = false
      last = seen.event.seq
      if (last >= row.head && SAYS_PAID.has(seen.event.type)) {
        const { usage = [] } = (await store.session(id)) ?? {}
        if (usage.length > 0) output.progress(pc.dim(`paid so far: ${usageText(usage)}`))
      }
    } else if (showsLiveText() && last >= row.head - 1) {
      // Of what was said before, the message alone is drawn, which shortens a long one.
      if (seen.anew) process.stdout.write(pc.dim('\n(The reply begins anew.)\n'))
      process.stdout.write(pc.dim(printable(seen.text)))
      inLiveText = true
      textOf = seen.key
    }
  }
}
