import { Anthropic } from '@anthropic-ai/sdk'
import { anthropicModels, scriptedModel } from 'durable-compaction/worker'
import { rehearsal } from './rehearsal.ts'

/** Claude, when there is a key for it; else a model that knows one task by heart. Another provider is one more line here. */
export async function models() {
  const clients = { rehearsal: scriptedModel(rehearsal, { capacity: { contextWindow: 32_000 } }) }
  if (!process.env['ANTHROPIC_API_KEY']) return { clients, model: 'rehearsal/one-task' }
  return {
    clients: { ...clients, anthropic: anthropicModels(new Anthropic()) },
    model: process.env['AGENT_MODEL'] ?? 'anthropic/claude-sonnet-5-5',
  }
}
