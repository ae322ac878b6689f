import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { after, before, test } from 'node:test'
import { FAILURE_KINDS } from '../../../src/shared/refusals/provider-failure.ts'
import type { ProviderFault } from './faults.ts'
import { seeFault, seeFaultInParts } from './observe.ts'
import { anthropicWire, openaiWire } from './wires.ts'

const FILE = resolve(import.meta.dirname, '../../../docs/provider-faults.md')

// docs/provider-faults.md: one row for each fault, with what was seen on both APIs.

export const TABLE_HEAD = [
  '| what the provider does | failure | in a turn, once | in a turn, always | in a summary, once | in a summary, always | in a part of a summary, once | in a part, always |',
  '| --- | --- | --- | --- | --- | --- | --- | --- |',
]

export interface Observer {
  /** The row of a fault. Both clients behave alike, or it fails. */
  row(fault: ProviderFault): Promise<string>
  close(): Promise<void>
}

export async function openObserver(): Promise<Observer> {
  const wires = await Promise.all([anthropicWire(), openaiWire()])
  let strayed = 0
  const elsewhere = createServer((_request, response) => {
    strayed++
    response.end()
  })
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`
  return {
    async row(fault) {
      const rows: string[] = []
      for (const wire of wires) {
        const { turn, summary } = await seeFault(wire, fault, address)
        const part = await seeFaultInParts(wire, fault, address)
        const seen = [turn, summary, part].flatMap(({ once, always }) => [once, always])
        rows.push(`| ${[fault.what, failureOf(fault), ...seen].join(' | ')} |`)
      }
      const [first = '', second] = rows
      assert.equal(second, first, 'both clients behave alike')
      assert.equal(strayed, 0, 'no request followed a redirect')
      return first
    },
    async close() {
      await Promise.all(wires.map((wire) => wire.close()))
      elsewhere.close()
    },
  }
}

/** Each fault's row in the file is what is seen now. */
export function testRows(faults: readonly ProviderFault[]): void {
  const written = new Set(readFileSync(FILE, 'utf8').split('\n'))
  let observer: Observer
  before(async () => {
    observer = await openObserver()
  })
  after(() => observer.close())
  for (const fault of faults)
    test(`${fault.id === undefined ? '' : `fault ${fault.id} `}${fault.what}: ${fault.kind}, once and always, in a turn, a summary and a part of one`, async () => {
      const row = await observer.row(fault)
      assert.ok(written.has(row), `docs/provider-faults.md does not have this row:\n${row}`)
    })
}

const failureOf = ({ kind, asksMs }: ProviderFault): string =>
  `${kind}${asksMs === undefined ? '' : `, waits ${asksMs / 1_000} s`}${FAILURE_KINDS[kind].retryable ? '' : ', final'}`
