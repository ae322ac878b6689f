import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const repository = resolve(import.meta.dirname, '../..')

/** A folder of a user: the package as it is published, built now, beside what it depends on, and the examples. */
export async function installPackage(app: string): Promise<void> {
  const modules = join(app, 'node_modules')
  const installed = join(modules, 'durable-compaction')
  mkdirSync(installed, { recursive: true })
  for (const name of readdirSync(join(repository, 'node_modules')))
    if (!name.startsWith('.')) symlinkSync(join(repository, 'node_modules', name), join(modules, name))
  writeFileSync(join(app, 'package.json'), '{"type": "module"}')
  cpSync(join(repository, 'package.json'), join(installed, 'package.json'))
  const tsc = join(repository, 'node_modules/typescript/bin/tsc')
  const args = ['--project', 'tsconfig.build.json', '--outDir', join(installed, 'dist')]
  await ended(spawn(process.execPath, [tsc, ...args], { cwd: repository, stdio: 'pipe' }), 'tsc')
  cpSync(join(repository, 'examples'), join(app, 'examples'), { recursive: true })
}

/** What a process printed; throws unless it ends with 0. */
export function ended(child: ChildProcess, name: string): Promise<string> {
  let [output, errors] = ['', '']
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk
  })
  return new Promise((resolve, reject) => {
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output)
      else reject(new Error(`${name} ended with ${code ?? signal}:\n${output}\n${errors}`))
    })
  })
}
