import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import { testFiles } from './files.ts'

/** Not written out below, where it would be taken for an import of this file's. */
const start = '../test/servers/start.ts'

const files: Record<string, string> = {
  'test/servers/build.ts': '',
  'test/servers/start.ts': "import { serverBinary } from './build.ts'",
  'test/servers/start.test.ts': "import {\n  start,\n  stop,\n} from './start.ts'",
  'agent/pure.ts': '',
  'agent/pure.test.ts': "import t from 'tap'\nimport { pure } from './pure.ts'",
  'agent/typed.test.ts': "import type { Server } from '../test/servers/start.ts'\nimport './pure.ts'",
  'controller/again.ts': "export * from '../test/servers/start.ts'",
  'controller/again.test.ts': "import './again.ts'",
  'controller/later.test.ts': `await import('${start}')`,
  'controller/program.test.ts': `spawn(import.meta.resolve('${start}'))`,
  'test/world/cpi.ts': "import '../servers/start.ts'",
  'test/e2e/beside-the-cpi.test.ts': "import '../world/cpi.ts'",
  'build/round.ts': "import './trip.ts'",
  'build/trip.ts': "import './round.ts'",
  'build/trip.test.ts': "import './trip.ts'",
}

t.test('a unit test is one that reaches no server, by whatever way', async (t) => {
  const root = t.testdir()
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  t.strictSame(await testFiles(root), {
    unit: ['agent/pure.test.ts', 'agent/typed.test.ts', 'build/trip.test.ts'],
    product: ['controller/again.test.ts', 'controller/later.test.ts', 'controller/program.test.ts'],
    rest: ['test/e2e/beside-the-cpi.test.ts', 'test/servers/start.test.ts'],
  })
})

t.test('of ours, too', async (t) => {
  const { unit, product, rest } = await testFiles(join(import.meta.dirname, '..'))
  for (const [kind, files] of [
    [unit, ['agent/options.test.ts', 'test/files.test.ts']],
    [
      product,
      [
        'test/e2e/initialize.test.ts',
        'controller/kubernetes/lease.test.ts',
        'controller/vcenter/inventory.test.ts',
      ],
    ],
    [
      rest,
      [
        'test/servers/faults.test.ts',
        'test/servers/pool/main.test.ts',
        'test/cpi/nodes.test.ts',
        'build/packages/agent-package.test.ts',
        'test/install/first-install.test.ts',
        'test/demo/demo.test.ts',
      ],
    ],
  ] as const)
    for (const file of files) t.ok(kind.includes(file), file)
})
