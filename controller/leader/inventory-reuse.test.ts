import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Test } from 'tap'
import t from 'tap'
import type { Config, VCenterConfig } from '../config/config.ts'
import { file, load } from '../config/testing/load.ts'
import { aborted } from '../lib/tasks.ts'
import type { VCenterFailure } from '../types/inventory.ts'
import type { InventoryOptions } from '../vcenter/inventory.ts'
import type { RunningInventory } from '../vcenter/running-inventory.ts'
import { createInventoryReuse } from './inventory-reuse.ts'

/** An inventory that does nothing but say what is asked of it. */
interface Stub {
  readonly config: VCenterConfig
  readonly onChange: InventoryOptions['onChange']
  /** What happened to it, in order. */
  readonly told: string[]
  failure: VCenterFailure | undefined
  /** Lets its end come; it holds back until then. */
  readonly release: () => void
  /** Makes it fail. */
  readonly fail: (error: Error) => void
}

async function open(t: Test) {
  const stubs: Stub[] = []
  const end = new AbortController()
  const inventories = createInventoryReuse(({ config, onChange }) => {
    const released = Promise.withResolvers<void>()
    const failed = Promise.withResolvers<void>()
    const told: string[] = []
    const stub: Stub = {
      config,
      onChange,
      told,
      failure: undefined,
      release: released.resolve,
      fail: failed.reject,
    }
    stubs.push(stub)
    const inventory: RunningInventory = {
      vCenter: config.name,
      follow: (uuid) => void told.push(`follow ${uuid}`),
      unfollow: (uuid) => void told.push(`unfollow ${uuid}`),
      recheck: () => undefined,
      readSince: () => true,
      lookup: () => ({ state: 'pending' }),
      probe: () => Promise.reject(new Error('not asked for')),
      instanceUUID: () => '',
      provable: () => undefined,
      provableEverywhere: () => undefined,
      fullReads: () => 0,
      failure: () => stub.failure,
      connected: () => true,
      datacenters: () => undefined,
      lackingCategories: () => new Map(),
      unsteady: () => undefined,
      certificateExpiry: () => undefined,
      passwordChanged: () => void told.push('password'),
      async run(signal) {
        told.push('runs')
        await Promise.race([aborted(signal), failed.promise])
        told.push('ends')
        await released.promise
        told.push('ended')
      },
    }
    return inventory
  }, end.signal)
  t.teardown(async () => {
    end.abort()
    for (const stub of stubs) stub.release()
    await inventories.close().catch(() => undefined)
  })
  return { stubs, inventories, end }
}

/** Works by a configuration as a leader does, until it is told to end; resolves with how to do so. */
function work(
  inventories: ReturnType<typeof createInventoryReuse>,
  config: Config,
  onChange: (uuids: ReadonlySet<string>) => void = () => undefined,
) {
  const over = new AbortController()
  inventories.adopt(config)
  const taken = config.vCenters.map((vCenter) => inventories.take(vCenter, onChange))
  const running = Promise.all(taken.map((inventory) => inventory.run(over.signal)))
  return {
    taken,
    running,
    async end() {
      over.abort()
      await running
    },
  }
}

const vc2 = '  vc2:\n    server: vc2.example.com\n    user: u\n    password: p\n'
const configOf = async (text: string) => (await load(text)).config

await t.test('which inventories go on, and which end', async (t) => {
  const refused: VCenterFailure = { vCenter: 'vc1', reason: 'InvalidLogin', message: '' }
  const unreachable: VCenterFailure = { vCenter: 'vc1', reason: 'Unreachable', message: '' }
  /** What it is told; `ends` where it does not go on. */
  const cases: readonly [string, string, VCenterFailure | undefined, readonly string[]][] = [
    ['another vCenter comes', `${file()}${vc2}`, undefined, []],
    ['other settings', file('    datacenters: [a]', 'lifecycle: {deletion: off}'), undefined, []],
    ['a password, the session lives', file().replace('pw', 'new'), undefined, ['password']],
    ['a password, not reached yet', file().replace('pw', 'new'), unreachable, ['password']],
    ['a password, the former was refused', file().replace('pw', 'new'), refused, ['password']],
    ['nothing about a refused one', `${file()}${vc2}`, refused, []],
    ['its user', file().replace('ops', 'new'), undefined, ['ends']],
    ['its address', file('    port: 8443'), undefined, ['ends']],
    ['its trust', file('    insecureFlag: true'), undefined, ['ends']],
    ['its name', file().replace('vc1:', 'main:'), undefined, ['ends']],
    ['zones', file('', 'labels: {zone: z}'), undefined, ['ends']],
    [
      'what label rules are made from',
      file('', 'labelRules: [{label: a, from: {host: name}}]'),
      undefined,
      ['ends'],
    ],
    ['it is gone', file().replace('vc1:', 'vc2:').replace('vc.', 'vc2.'), undefined, ['ends']],
  ]
  for (const [what, after, failure, expected] of cases) {
    const goesOn = !expected.includes('ends')
    await t.test(what, async (t) => {
      const { stubs, inventories } = await open(t)
      const first = work(inventories, await configOf(file()))
      const [stub] = stubs
      if (stub === undefined) throw new Error('no inventory was made')
      stub.failure = failure
      await first.end()
      await nextTurn()
      t.same(stub.told, ['runs'], 'it outlives the work')
      const loaded = await configOf(after)
      const oddity = 'its password ends with a space'
      const config = { ...loaded, vCenters: loaded.vCenters.map((each) => ({ ...each, oddity })) }
      const second = work(inventories, config)
      await nextTurn()
      t.same(stub.told, ['runs', ...expected])
      t.equal(
        stubs.filter(({ config }) => config.name === 'vc1').length,
        goesOn || config.vCenters[0]?.name !== 'vc1' ? 1 : 2,
      )
      if (goesOn) {
        t.equal(
          stub.config.password.reveal(),
          config.vCenters[0]?.password.reveal(),
          'the next login takes it',
        )
        t.equal(stub.config.oddity, oddity, 'and what is said of it')
      }
      for (const { release } of stubs) release()
      await second.end()
    })
  }
})

await t.test('a new session with a server waits for the end of the one before, others do not', async (t) => {
  const { stubs, inventories } = await open(t)
  await work(inventories, await configOf(`${file()}${vc2}`)).end()
  const second = work(
    inventories,
    await configOf(`${file().replace('ops', 'new')}${vc2.replace('u\n', 'v\n').replace('vc2.e', 'vc3.e')}`),
  )
  await nextTurn()
  t.strictSame(
    stubs.map(({ told }) => told),
    [['runs', 'ends'], ['runs', 'ends'], [], ['runs']],
  )
  stubs[0]?.release()
  await nextTurn()
  t.same(stubs[2]?.told, ['runs'])
  for (const { release } of stubs) release()
  await second.end()
})

await t.test('what is followed no longer is let go when all is known', async (t) => {
  const { stubs, inventories } = await open(t)
  const config = await configOf(file())
  const heard: string[] = []
  const first = work(inventories, config, () => void heard.push('first'))
  for (const uuid of ['a', 'b', 'c']) first.taken[0]?.follow(uuid)
  first.taken[0]?.unfollow('c')
  inventories.settle()
  await first.end()
  const second = work(inventories, config, (uuids) => void heard.push(...uuids))
  second.taken[0]?.follow('a')
  second.taken[0]?.follow('d')
  stubs[0]?.told.splice(0)
  inventories.settle()
  inventories.settle()
  t.same(stubs[0]?.told, ['unfollow b'])
  stubs[0]?.onChange(new Set(['a']))
  t.same(heard, ['a'], 'the work that goes on now is told')
  await second.end()
})

await t.test('the end of the term ends all, and waits for them', async (t) => {
  const { stubs, inventories, end } = await open(t)
  const first = work(inventories, await configOf(`${file()}${vc2}`))
  await nextTurn()
  end.abort()
  await nextTurn()
  t.same(
    stubs.map(({ told }) => told),
    [
      ['runs', 'ends'],
      ['runs', 'ends'],
    ],
  )
  let closed = false
  const closing = inventories.close().then(() => {
    closed = true
  })
  await nextTurn()
  t.equal(closed, false)
  for (const { release } of stubs) release()
  await closing
  await first.running
})

await t.test('a defect ends the work, also one that comes between', async (t) => {
  const { stubs, inventories } = await open(t)
  const config = await configOf(file())
  const first = work(inventories, config)
  await first.end()
  stubs[0]?.fail(new Error('a defect'))
  await nextTurn()
  await t.rejects(work(inventories, config).running, { message: 'a defect' })
  await t.rejects(inventories.close(), { message: 'a defect' })
})
