import { readFileSync } from 'node:fs'

/** Cannot be a workflow: shows that the bundler's check of the real ones can fail. */
export async function forbiddenWorkflow(path: string): Promise<string> {
  return readFileSync(path, 'utf8')
}
