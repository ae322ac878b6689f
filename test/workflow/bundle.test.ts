import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, type WorkflowBundleWithSourceMap } from '@temporalio/worker'
import { WORKFLOWS } from '../../src/shared/protocol.ts'
import { WORKFLOWS_PATH } from '../support/temporal.ts'

type Logger = NonNullable<Parameters<typeof bundleWorkflowCode>[0]['logger']>

function recordingLogger(): { logger: Logger; complaints: string[] } {
  const complaints: string[] = []
  const note = (message: string) => complaints.push(message)
  return { complaints, logger: { log() {}, trace() {}, debug() {}, info() {}, warn: note, error: note } }
}

describe('workflow bundle', () => {
  const { logger, complaints } = recordingLogger()
  let bundle: WorkflowBundleWithSourceMap
  before(async () => {
    bundle = await bundleWorkflowCode({ workflowsPath: WORKFLOWS_PATH, logger })
  })

  test('takes the sources as they are, without a complaint', () => {
    assert.deepEqual(complaints, [])
    assert.ok(bundle.code.length < 4_000_000, `${bundle.code.length} characters`)
  })

  test('exports the two workflows under the names of the protocol, and nothing else: every export is a workflow', async () => {
    const exported = await import('../../src/workflows/index.ts')
    assert.deepEqual(Object.keys(exported).sort(), Object.values(WORKFLOWS).sort())
  })

  test('fault Y03 holds no token ranks, no model SDK, no activity and no built-in module', () => {
    for (const foreign of [
      'js-tiktoken',
      '@anthropic-ai/sdk',
      'src/activities/',
      'src/store/',
      'src/shared/tokens/',
      'require("node:',
      "require('node:",
    ]) {
      assert.equal(bundle.code.includes(foreign), false, `${foreign} is in the bundle`)
    }
  })

  test('a built-in module would be refused: the check can fail', async () => {
    const workflowsPath = fileURLToPath(new URL('../support/forbidden-workflow.ts', import.meta.url))
    const refusing = recordingLogger()
    await assert.rejects(
      bundleWorkflowCode({ workflowsPath, logger: refusing.logger }),
      /Webpack finished with errors/,
    )
    assert.match(refusing.complaints.join('\n'), /node:fs/)
  })
})
