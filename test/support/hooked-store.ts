import type { SessionStore } from '../../src/shared/ports/store.ts'

// The real store with a place before and behind each write, where a test holds a session up, changes it, or loses an answer.

type Write = 'openAttempt' | 'recordCall' | 'recordSummary' | 'commitAttempt' | 'closeAttempt'
type Hook = (write: () => Promise<unknown>) => Promise<unknown>

export interface HookedStore {
  readonly store: SessionStore
  /** From now on this write of this session goes through the hook. */
  on(sessionId: string, write: Write, hook: Hook): void
  off(sessionId: string): void
}

export function hookedStore(store: SessionStore): HookedStore {
  const hooks = new Map<string, Hook>()
  const hooked =
    (name: string, method: (input: never) => Promise<unknown>) =>
    (input: never, ...rest: never[]) => {
      const write = () => method.call(store, input, ...(rest as [])) as Promise<unknown>
      const hook = hooks.get(`${(input as { sessionId?: string } | undefined)?.sessionId} ${name}`)
      return hook === undefined ? write() : hook(write)
    }
  return {
    store: new Proxy(store, {
      get(target, name) {
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? hooked(String(name), value) : value
      },
    }),
    on: (sessionId, write, hook) => void hooks.set(`${sessionId} ${write}`, hook),
    off(sessionId) {
      for (const key of [...hooks.keys()]) if (key.startsWith(`${sessionId} `)) hooks.delete(key)
    },
  }
}
