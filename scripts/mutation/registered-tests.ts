/** Stands in for `node:test` in the bundle of the mutation check: keeps the tests, so that the runner can run any of them alone. */

type Registered = { readonly title: string; readonly run: () => unknown }

export const registered: Registered[] = []

const groups: string[] = []

export function describe(title: string, body: () => void): void {
  groups.push(title)
  body()
  groups.pop()
}

export function test(title: string, run: () => unknown): void {
  registered.push({ title: [...groups, title].join(' '), run })
}

export const it = test
