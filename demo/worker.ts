import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { sqliteStore } from '../src/store/index.ts'
import { createSessionWorker } from '../src/worker/index.ts'
import { createCast, type Stage } from './cast.ts'

// The worker of the demo, in a process of its own, so that it can be killed. It ends with the demo, however that ends.
process.once('disconnect', () => process.exit())
const stage = JSON.parse(process.env['DEMO_STAGE'] ?? '{}') as Stage
Runtime.install({ logger: new DefaultLogger('ERROR') })
const store = sqliteStore({ path: stage.storePath })
const { model, tools } = await createCast(stage, store)
const worker = await createSessionWorker({
  connection: await NativeConnection.connect({ address: stage.address }),
  store,
  models: { demo: model },
  tools,
  taskQueue: stage.taskQueue,
  workflows: { workflowBundle: { codePath: stage.bundlePath } },
})
process.send?.('ready')
await worker.run()
