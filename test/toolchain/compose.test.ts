import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { parse } from 'yaml'

interface Service {
  image?: string
  build?: { context: string; dockerfile: string }
  ports?: string[]
  volumes?: string[]
  entrypoint?: string[]
  depends_on?: Record<string, { condition: string }>
  healthcheck?: unknown
  restart?: string
}

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const compose = parse(read('docker-compose.yml')) as {
  services: Record<string, Service>
  volumes: Record<string, unknown>
}
const services = Object.entries(compose.services)

test('compose: the file follows the Compose specification', () => {
  const check = composeSchema()
  assert.ok(check(compose), JSON.stringify(check.errors, null, 2))
})

test('compose: the schema would refuse a misspelt key, a wrong type and an unknown condition', () => {
  const check = composeSchema()
  const worker = compose.services['worker']
  for (const change of [
    { imagee: 'x' },
    { ports: '7233' },
    { depends_on: { temporal: { condition: 'service_ready' } } },
  ]) {
    assert.equal(
      check({ ...compose, services: { worker: { ...worker, ...change } } }),
      false,
      JSON.stringify(change),
    )
  }
})

test('compose: Temporal, its databases, its page and the worker are there', () => {
  const expected = ['postgres', 'temporal', 'temporal-namespace', 'temporal-schema', 'temporal-ui', 'worker']
  assert.deepEqual(Object.keys(compose.services).sort(), expected)
})

test('compose: nothing listens beyond this host, every image has a version', () => {
  for (const [name, { ports = [], image }] of services) {
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:/, name)
    if (image !== undefined) assert.match(image, /:\d/, name)
  }
})

test('compose: a service waits for what it needs in the way in which that gets ready', () => {
  for (const [name, { depends_on: needs = {} }] of services) {
    for (const [needed, { condition }] of Object.entries(needs)) {
      const service = compose.services[needed]
      assert.ok(service, `${name} needs ${needed}, which is not there`)
      const runsOnce = service.restart === undefined
      assert.equal(
        condition,
        runsOnce ? 'service_completed_successfully' : 'service_healthy',
        `${name} → ${needed}`,
      )
      assert.ok(runsOnce || service.healthcheck, `${needed} has no health check`)
    }
  }
})

test('compose: every file and volume that it names exists', () => {
  for (const [name, { build, volumes = [], entrypoint = [] }] of services) {
    if (build) assert.ok(existsSync(join(root, build.context, build.dockerfile)), name)
    for (const volume of volumes) {
      const [source = ''] = volume.split(':')
      if (source.startsWith('.')) assert.ok(existsSync(join(root, source)), `${name}: ${source}`)
      else assert.ok(source in compose.volumes, `${name}: ${source}`)
    }
    for (const word of entrypoint.filter((part) => part.startsWith('/docker/'))) {
      assert.ok(existsSync(join(root, word)), `${name}: ${word}`)
    }
  }
})

test('compose: what the Dockerfile copies from the repository exists and is not ignored', () => {
  const ignored = read('.dockerignore').split('\n')
  const copied = [...read('docker/worker.Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)]
  const sources = copied.flatMap(([, paths = '']) => paths.split(' '))
  assert.ok(sources.length >= 6)
  for (const source of sources) {
    assert.ok(existsSync(join(root, source)), source)
    assert.ok(ignored.includes(`!${source}`), `.dockerignore keeps ${source} out`)
  }
})

function composeSchema() {
  const { $schema: _, ...schema } = JSON.parse(read('test/toolchain/compose-spec/compose-spec.json'))
  // The specification spells the draft's name with https, which names no draft that a validator knows.
  return new Ajv({ strict: false, formats: { duration: true } }).compile(schema)
}
