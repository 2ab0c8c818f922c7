/** VMs that vCenter has told to have a followed UUID: what is made of them. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { createVMLocations } from './cache/vm-locations.ts'
import { VMStore } from './cache/vm-store.ts'
import { Sightings } from './cache/vms-of-uuid.ts'
import { createSuspects } from './collect/read-machines.ts'
import type { PropertyReader } from './collect/retrieve-properties.ts'
import { locateWanted } from './sync-vms.ts'
import { answered, openLab, told } from './testing/lab.ts'
import { SoapFault } from './wire/errors.ts'
import type { XMLElement } from './wire/xml.ts'

const { signal } = new AbortController()
const value = (text: string): XMLElement => ({
  name: 'val',
  type: undefined,
  kind: undefined,
  text,
  children: [],
})

/** A store that follows these UUIDs, over a vCenter whose VMs have the UUIDs of `has`, and whose searches find `finds`. */
function withSightings(...followed: readonly string[]) {
  const locations = createVMLocations({ tagging: false })
  const store = new VMStore({
    vCenter: () => ({ name: 'vc', instanceUUID: 'i' }),
    place: (machine) => locations.place(machine),
    onChange() {},
    monotonic: () => 0,
  })
  const sightings = new Sightings()
  const has = new Map<string, string>()
  const refused = new Set<string>()
  const finds = new Map<string, readonly string[]>()
  const searches: (readonly string[])[] = []
  const reads: string[] = []
  const scene = { meanwhile: () => {} }
  const reader: PropertyReader = {
    async read(specs, take) {
      for (const [, vm = ''] of specs.join().matchAll(/<obj type="VirtualMachine">([^<]+)</g)) {
        const reference = { type: 'VirtualMachine', value: vm }
        reads.push(vm)
        if (refused.has(vm)) throw new SoapFault('NoPermission', '', reference)
        const properties = new Map([
          ['config.uuid', value(has.get(vm) ?? '')],
          ['summary.config.numEthernetCards', value('0')],
          ['runtime.powerState', value('poweredOn')],
          ['runtime.connectionState', value('connected')],
        ])
        if (has.has(vm)) take({ reference, properties, missing: new Map(), excess: undefined })
      }
      scene.meanwhile()
    },
  }
  /** As many at once as ours searches singly. */
  const locator = {
    async locate(uuids: readonly string[]) {
      searches.push(uuids.slice(0, 8))
      return new Map(uuids.slice(0, 8).map((uuid) => [uuid, { vms: finds.get(uuid) ?? [], fresh: true }]))
    },
    sweep: async () => new Map(),
    forget() {},
  }
  const suspects = createSuspects(reader)
  const all = { store, locations, locator, sightings, reader, suspects, onAnswered() {} }
  for (const uuid of followed) store.follow(uuid)
  const vmsOf = (uuid: string) => {
    const answer = store.lookup(uuid)
    return answer.state === 'answered' ? answer.vms.map(({ moref }) => moref) : answer.state
  }
  const locate = () => locateWanted(all, signal)
  return { store, sightings, has, refused, finds, searches, reads, scene, vmsOf, locate }
}

t.test('a VM that was seen with a followed UUID is read, whether or not a search finds it', async (t) => {
  const { store, sightings, has, refused, finds, searches, vmsOf, locate } = withSightings('u')
  has.set('vm-1', 'u')
  finds.set('u', ['vm-1'])
  await locate()
  t.same(vmsOf('u'), ['vm-1'])
  t.same(
    [store.lacks('u', 'vm-1'), store.lacks('u', 'vm-2'), store.lacks('other', 'vm-2')],
    [false, true, false],
  )

  has.set('vm-2', 'u')
  sightings.add('u', 'vm-2')
  await locate()
  t.same(vmsOf('u'), ['vm-1', 'vm-2'])
  t.equal(searches.length, 2)

  has.set('vm-2', 'another')
  for (const vm of ['vm-2', 'vm-3']) sightings.add('u', vm)
  await locate()
  t.same(vmsOf('u'), ['vm-1'], 'one that has another by now is none, nor is one that is gone')
  t.equal(sightings.size(), 0)

  refused.add('vm-4')
  sightings.add('u', 'vm-4')
  await locate()
  t.same(vmsOf('u'), ['vm-1'], 'one that may not be read does not spoil the answer for the others')
})

t.test('a VM that is taken out of our sight hides no other with its UUID', async (t) => {
  const { store, has, refused, finds, vmsOf, locate } = withSightings('u')
  for (const vm of ['vm-1', 'vm-t']) has.set(vm, 'u')
  finds.set('u', ['vm-1', 'vm-t'])
  await locate()
  refused.add('vm-t')
  // Searches leave out what may not be seen, or do not.
  for (const found of [['vm-1'], ['vm-1', 'vm-t']]) {
    finds.set('u', found)
    store.want('u', true)
    await locate()
    t.same(vmsOf('u'), ['vm-1', 'vm-t'])
  }
  refused.add('vm-1')
  store.want('u', true)
  await locate()
  t.equal(vmsOf('u'), 'failed', 'where none can be read, nothing is known')

  const first = withSightings('u')
  for (const vm of ['vm-1', 'vm-t']) first.has.set(vm, 'u')
  first.finds.set('u', ['vm-1', 'vm-t'])
  first.refused.add('vm-t')
  await first.locate()
  const incomplete = () => {
    const answer = first.store.lookup('u')
    return answer.state === 'answered' ? answer.incomplete?.reason : answer.state
  }
  t.same(first.vmsOf('u'), ['vm-1'], 'one that never could be read hides it as little')
  t.equal(incomplete(), 'NoPermission', 'but may be the one that is looked for')
  first.refused.clear()
  t.ok(first.store.wantFailed(), 'so it is tried again')
  await first.locate()
  t.same([first.vmsOf('u'), incomplete()], [['vm-1', 'vm-t'], undefined])
})

t.test('a VM that is read for the first time is read however many copies are refused', async (t) => {
  const { store, has, refused, finds, vmsOf, locate } = withSightings('u')
  const copies = Array.from({ length: 60 }, (_, i) => `vm-t${i}`)
  finds.set('u', [...copies, 'vm-1'])
  for (const vm of [...copies, 'vm-1']) has.set(vm, 'u')
  for (const vm of copies) refused.add(vm)
  await locate()
  t.equal(vmsOf('u'), 'pending', 'finding those that are refused takes too many calls')
  t.same(store.wanted(), ['u'])
  await locate()
  t.same(vmsOf('u'), ['vm-1'], 'so those that were found are read after it')
})

t.test('a VM that is expected is read whatever a search finds before it', async (t) => {
  const { store, has, finds, vmsOf, locate } = withSightings('u')
  const copies = Array.from({ length: 64 }, (_, i) => `vm-t${i}`)
  for (const vm of [...copies, 'vm-1']) has.set(vm, 'u')
  finds.set('u', [...copies, 'vm-1'])
  await locate()
  t.notOk(vmsOf('u').includes('vm-1'))
  t.ok(store.awaits('u', 'vm-1'))
  await locate()
  t.ok(vmsOf('u').includes('vm-1'))
  t.notOk(store.awaits('u', 'vm-1'))
  t.notOk(store.awaits('other', 'vm-1'), 'nobody follows that')
})

t.test('what is seen during a search is searched for again', async (t) => {
  const { sightings, has, finds, scene, vmsOf, locate } = withSightings('u')
  has.set('vm-1', 'u')
  finds.set('u', ['vm-1'])
  scene.meanwhile = () => {
    has.set('vm-2', 'u')
    sightings.add('u', 'vm-2')
    scene.meanwhile = () => {}
  }
  await locate()
  t.same(vmsOf('u'), ['vm-1'])
  t.equal(sightings.size(), 1)
  await locate()
  t.same(vmsOf('u'), ['vm-1', 'vm-2'])
})

t.test('a VM that had another UUID for the moment in which it was read is looked at again', async (t) => {
  const { store, sightings, has, finds, vmsOf, locate } = withSightings('u')
  const setUUID = (uuid: string) => {
    has.set('vm-2', uuid)
    finds.set('u', uuid === 'u' ? ['vm-1', 'vm-2'] : ['vm-1'])
  }
  const read = async () => {
    store.want('u')
    await locate()
    return vmsOf('u')
  }
  has.set('vm-1', 'u')
  setUUID('u')
  t.same(await read(), ['vm-1', 'vm-2'])
  setUUID('another')
  t.same(await read(), ['vm-1'])
  // Push compares now, and has nothing to tell.
  setUUID('u')
  sightings.lookAgain()
  await locate()
  t.same(vmsOf('u'), ['vm-1', 'vm-2'], 'where it was known to have it')

  setUUID('another')
  await read()
  finds.set('u', ['vm-1', 'vm-2'])
  await read()
  sightings.tell('vm-2', 'another')
  sightings.lookAgain()
  t.equal(sightings.size(), 0, 'push tells that it has another, and will tell when that changes')
  setUUID('u')
  sightings.tell('vm-2', 'u')
  sightings.add('u', 'vm-2')
  setUUID('another')
  await locate()
  t.same(vmsOf('u'), ['vm-1'])
  setUUID('u')
  sightings.lookAgain()
  await locate()
  t.same(vmsOf('u'), ['vm-1', 'vm-2'], 'where it was seen with it')

  sightings.tell('vm-2', 'another')
  setUUID('another')
  await read()
  sightings.lookAgain()
  t.equal(sightings.size(), 0, 'where push has told what is read, there is nothing to look for')
})

t.test('a VM whose other UUID is never pushed is looked at for a while', async (t) => {
  const { store, sightings, has, finds, reads, vmsOf, locate } = withSightings('u')
  has.set('vm-1', 'u')
  finds.set('u', ['vm-1'])
  await locate()
  has.set('vm-1', 'another')
  finds.set('u', [])
  store.want('u')
  await locate()
  t.same(vmsOf('u'), [])
  reads.length = 0
  let looks = 0
  for (; looks < 100; looks++) {
    sightings.lookAgain()
    sightings.lookAgain()
    if (sightings.size() === 0) break
    await locate()
  }
  t.equal(looks, 12, 'one that is still to come is counted once')
  t.equal(reads.length, 12)
})

t.test('a UUID that is in doubt during a search is searched for again', async (t) => {
  const { store, has, finds, scene, vmsOf, locate } = withSightings('u')
  for (const vm of ['vm-1', 'vm-2']) has.set(vm, 'u')
  finds.set('u', ['vm-1', 'vm-2'])
  await locate()
  // It had another UUID while it was read, and has its own again before the answer.
  const [, known] = store.machines()
  if (known === undefined) throw new Error('both are known')
  has.set('vm-2', 'another')
  finds.set('u', ['vm-1'])
  scene.meanwhile = () => {
    for (const biosUUID of ['another', 'u']) store.update([{ ...known, biosUUID }])
    has.set('vm-2', 'u')
    finds.set('u', ['vm-1', 'vm-2'])
    scene.meanwhile = () => {}
  }
  store.want('u')
  await locate()
  t.same(store.wanted(), ['u'])
  await locate()
  t.same(vmsOf('u'), ['vm-1', 'vm-2'])
  t.same(store.wanted(), [])
})

t.test('UUIDs that a VM takes one after the other keep no new Node waiting', async (t) => {
  const victims = Array.from({ length: 100 }, (_, i) => `u-${i}`)
  const { store, sightings, has, searches, reads, locate, vmsOf } = withSightings()
  has.set('vm-t', 'mine')
  for (const uuid of victims) store.follow(uuid)
  while (store.wanted().length > 0) await locate()
  for (const uuid of victims) sightings.add(uuid, 'vm-t')
  await locate()
  t.equal(sightings.size(), 92, 'those that were not searched for wait')
  store.follow('new')
  for (const uuid of victims) sightings.add(uuid, 'vm-t')
  searches.length = 0
  await locate()
  t.equal(searches[0]?.[0], 'new')
  t.same(vmsOf('new'), [])
  for (let i = 0; i < 14; i++) await locate()
  t.equal(sightings.size(), 0)
  t.ok(reads.length <= 16, `it is read once a search, not ${reads.length} times`)
})

t.test('of those that were seen, each is read when its UUID is searched for', async (t) => {
  const { store, sightings, has, reads, locate, vmsOf } = withSightings()
  const all = Array.from({ length: 40 }, (_, i) => i)
  for (const i of all) {
    store.follow(`u-${i}`)
    has.set(`vm-${i}`, `u-${i}`)
    sightings.add(`u-${i}`, `vm-${i}`)
  }
  for (let i = 0; i < 5; i++) await locate()
  for (const i of all) t.same(vmsOf(`u-${i}`), [`vm-${i}`])
  t.equal(reads.length, all.length)
})

t.test('those that are told before the first search is answered cost no second one', async (t) => {
  const lab = await openLab(t, {
    simulator: { vms: 40 },
    categories: {},
    async before(vCenter) {
      await vCenter.fault({ operation: 'WaitForUpdatesEx', kind: 'delay', milliseconds: 1_000, times: 1 })
    },
  })
  const { vCenter, inventory } = lab
  await until('it polls', () => lab.log.some((line) => line.includes('"following"')))
  await vCenter.fault({ operation: 'RetrievePropertiesEx', kind: 'delay', milliseconds: 1_500 })
  const uuids = (await vCenter.vms()).map(({ uuid }) => uuid)
  for (const uuid of uuids) inventory.follow(uuid)
  await told(lab, ...uuids)
  const { operations } = await vCenter.calls()
  t.equal(operations.FindAllByUuid, undefined)
})

t.test('a VM that had another UUID between two polls, and was read then, is found again', async (t) => {
  const lab = await openLab(t, { simulator: { vms: 4 }, categories: {} })
  const { vCenter, inventory } = lab
  const [victim, copy] = await vCenter.vms()
  if (victim === undefined || copy === undefined) throw new Error('there are four')
  await vCenter.setState({ vm: copy.ref, uuid: victim.uuid })
  inventory.follow(victim.uuid)
  await answered(lab, victim.uuid, 2)
  await until('both are watched', async () => (await vCenter.watchedVMs()).vms.length === 2)
  await vCenter.fault({ operation: 'WaitForUpdatesEx', kind: 'delay', milliseconds: 4_000, times: 1 })
  await vCenter.setState({ vm: victim.ref, powerState: 'poweredOff' })
  await until('the next poll is held up', async () => (await vCenter.faults())[0]?.hits === 1)
  await vCenter.setState({ vm: copy.ref, uuid: copy.uuid })
  inventory.readSince(copy.ref, 'another MAC', 'worker-1')
  await answered(lab, victim.uuid, 1)
  await vCenter.setState({ vm: copy.ref, uuid: victim.uuid })
  await answered(lab, victim.uuid, 2)
})
