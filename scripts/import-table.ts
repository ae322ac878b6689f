/** `types` allows `import type` only, which leaves nothing behind at run time. */
export type Access = 'yes' | 'types'

export interface Area {
  name: string
  /** Files of the area: a folder (ends in `/`) or one file. The first area that matches a file owns it. */
  path: string
  /** Areas of `src` that it may import, itself included only when named. */
  areas: Readonly<Record<string, Access>>
  /** Packages that it may import, subpaths included; `node:` stands for every built-in module. */
  packages: Readonly<Record<string, Access>>
}

const SANDBOX = { '@temporalio/workflow': 'yes', '@temporalio/common': 'yes', zod: 'yes' } as const
const ANTHROPIC_TYPES = { '@anthropic-ai/sdk': 'types' } as const

/**
 * Who may import what, the table of CONTRIBUTING.md. Two areas are narrower than their folder: `tokens` holds 2.3 MB of
 * ranks and must not reach a workflow bundle, `checkpoint` is an entry point that loads nothing at all.
 */
export const IMPORT_TABLE: readonly Area[] = [
  { name: 'checkpoint', path: 'src/shared/checkpoint-source.ts', areas: {}, packages: {} },
  {
    name: 'tokens',
    path: 'src/shared/tokens/',
    areas: { checkpoint: 'yes', shared: 'yes', tokens: 'yes' },
    packages: { 'js-tiktoken': 'yes', zod: 'yes', ...ANTHROPIC_TYPES },
  },
  {
    name: 'shared',
    path: 'src/shared/',
    areas: { checkpoint: 'yes', shared: 'yes', tokens: 'types' },
    packages: { zod: 'yes', ...ANTHROPIC_TYPES },
  },
  {
    name: 'messages',
    path: 'src/workflows/messages.ts',
    areas: { checkpoint: 'yes', shared: 'yes', tokens: 'types' },
    packages: SANDBOX,
  },
  {
    name: 'workflows',
    path: 'src/workflows/',
    areas: {
      checkpoint: 'yes',
      shared: 'yes',
      tokens: 'types',
      messages: 'yes',
      workflows: 'yes',
      activities: 'types',
    },
    packages: { ...SANDBOX, ...ANTHROPIC_TYPES },
  },
  {
    name: 'activities',
    path: 'src/activities/',
    areas: { checkpoint: 'yes', shared: 'yes', tokens: 'yes', activities: 'yes', formats: 'yes' },
    packages: {
      'node:': 'yes',
      '@temporalio/activity': 'yes',
      '@temporalio/client': 'yes',
      '@temporalio/common': 'yes',
      '@anthropic-ai/sdk': 'yes',
      '@modelcontextprotocol/sdk': 'yes',
      openai: 'types',
      zod: 'yes',
    },
  },
  {
    name: 'store',
    path: 'src/store/',
    areas: { checkpoint: 'yes', shared: 'yes', tokens: 'yes', store: 'yes' },
    packages: { 'node:': 'yes', libsql: 'yes', pg: 'yes', zod: 'yes', ...ANTHROPIC_TYPES },
  },
  {
    name: 'formats',
    path: 'src/formats/',
    areas: { checkpoint: 'yes', shared: 'yes', tokens: 'yes', formats: 'yes' },
    packages: { zod: 'yes', ...ANTHROPIC_TYPES },
  },
  {
    name: 'client',
    path: 'src/client/',
    areas: {
      checkpoint: 'yes',
      shared: 'yes',
      tokens: 'yes',
      messages: 'yes',
      workflows: 'types',
      client: 'yes',
    },
    packages: {
      'node:': 'yes',
      '@temporalio/client': 'yes',
      '@temporalio/common': 'yes',
      zod: 'yes',
      ...ANTHROPIC_TYPES,
    },
  },
  {
    name: 'worker',
    path: 'src/worker/',
    areas: { checkpoint: 'yes', shared: 'yes', tokens: 'yes', activities: 'yes', worker: 'yes' },
    packages: {
      'node:': 'yes',
      '@temporalio/activity': 'yes',
      '@temporalio/client': 'yes',
      '@temporalio/common': 'yes',
      '@temporalio/worker': 'yes',
      '@anthropic-ai/sdk': 'yes',
      pino: 'yes',
      zod: 'yes',
    },
  },
  {
    name: 'cli',
    path: 'src/cli/',
    areas: {
      checkpoint: 'yes',
      shared: 'yes',
      tokens: 'yes',
      store: 'yes',
      formats: 'yes',
      client: 'yes',
      worker: 'yes',
      cli: 'yes',
    },
    packages: {
      'node:': 'yes',
      '@temporalio/client': 'yes',
      '@temporalio/common': 'yes',
      '@temporalio/worker': 'yes',
      '@anthropic-ai/sdk': 'yes',
      commander: 'yes',
      picocolors: 'yes',
      pino: 'yes',
      zod: 'yes',
    },
  },
]
