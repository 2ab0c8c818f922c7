import t from 'tap'
import { createVMLocations } from './cache/vm-locations.ts'
import { VMStore } from './cache/vm-store.ts'
import { Sightings } from './cache/vms-of-uuid.ts'
import type { Quarantine } from './collect/quarantine.ts'
import { createSuspects } from './collect/read-machines.ts'
import type { ObjectContent, PropertyReader } from './collect/retrieve-properties.ts'
import { changeMachine } from './properties/pushed-properties.ts'
import { locateWanted, readAgain, resync } from './sync-vms.ts'
import { SoapFault, UnansweredError, VCenterError } from './wire/errors.ts'
import type { XMLElement } from './wire/xml.ts'

const { signal } = new AbortController()
const value = (text: string): XMLElement => ({
  name: 'val',
  type: undefined,
  kind: undefined,
  text,
  children: [],
})

/** A VM that is read as running, while `meanwhile` happens. */
function setUp() {
  const locations = createVMLocations({ tagging: false })
  const store = new VMStore({
    vCenter: () => ({ name: 'vc', instanceUUID: 'i' }),
    place: (machine) => locations.place(machine),
    onChange() {},
    monotonic: () => 0,
  })
  const scene = { cpus: '2', meanwhile: () => {}, reads: [''] }
  const reader: PropertyReader = {
    async read(specs, take) {
      scene.reads.push(specs.join())
      const properties = new Map([
        ['config.uuid', value('u')],
        ['config.hardware.numCPU', value(scene.cpus)],
        ['config.changeVersion', value(`with ${scene.cpus} CPUs`)],
        ['summary.config.numEthernetCards', value('0')],
        ['runtime.powerState', value('poweredOn')],
        ['runtime.connectionState', value('connected')],
      ])
      take({
        reference: { type: 'VirtualMachine', value: 'vm-1' },
        properties,
        missing: new Map(),
        excess: undefined,
      })
      scene.meanwhile()
    },
  }
  const locator = {
    locate: async () => new Map([['u', { vms: ['vm-1'], fresh: true }]]),
    sweep: async () => new Map(),
    forget() {},
  }
  const sightings = new Sightings()
  const suspects = createSuspects(reader)
  const options = { store, locations, locator, sightings, reader, suspects, onAnswered() {} }
  const seen = () => {
    const answer = store.lookup('u')
    return answer.state === 'answered' ? answer.vms[0] : undefined
  }
  const push = () => {
    const machine = store.machine('vm-1')
    if (machine === undefined) throw new Error('the VM is not followed')
    store.update([changeMachine(machine, new Map([['runtime.powerState', value('poweredOff')]]))])
  }
  return { scene, options, seen, push }
}

t.test('what is pushed while all is read again is not undone', async (t) => {
  const { scene, options, seen, push } = setUp()
  options.store.follow('u')
  await locateWanted(options, signal)
  t.match(seen(), { powerState: 'poweredOn', cpus: 2 })
  scene.cpus = '4'
  scene.meanwhile = push
  scene.reads = []
  const { vms } = await resync(options, { type: 'ListView', value: 'l' }, () => true, signal)
  t.match(seen(), { powerState: 'poweredOff', cpus: 4 })
  t.same(vms, ['vm-1'])
  const [list, reconfigured, ...more] = scene.reads
  t.match(list, '<obj type="ListView">l</obj>')
  t.notMatch(list, 'reportMissingObjectsInResults', 'a list that is gone is not an empty one')
  t.notMatch(list, 'config.hardware')
  t.match(reconfigured, '<obj type="VirtualMachine">vm-1</obj>')
  t.same(more, [])
  scene.meanwhile = () => {}
  scene.reads = []
  await resync(options, { type: 'ListView', value: 'l' }, () => true, signal)
  t.match(seen(), { powerState: 'poweredOn' }, 'what push has missed is corrected')
  t.equal(scene.reads.length, 1, 'its configuration is as it was')
})

t.test('what is pushed while a VM is asked for again is not undone', async (t) => {
  const { scene, options, seen, push } = setUp()
  options.store.follow('u')
  await locateWanted(options, signal)
  scene.meanwhile = push
  options.store.want('u')
  await locateWanted(options, signal)
  t.match(seen(), { powerState: 'poweredOff' })
})

t.test('a VM that leaves quarantine while others are read is not gone', async (t) => {
  for (const resyncs of [false, true]) {
    const { scene, options, seen } = setUp()
    options.store.follow('u')
    await locateWanted(options, signal)
    const error = new UnansweredError(new VCenterError('Unavailable', 'another VM hangs'))
    /** Whether it is still held. */
    const answers = [true]
    const quarantine: Quarantine = {
      held: () => (answers.shift() === true ? { alone: false, error } : undefined),
      hold() {},
      holdCall() {},
      isSearching: () => false,
      async run() {},
    }
    const reader = { ...options.reader, quarantine }
    scene.cpus = '4'
    const changed = resyncs
      ? await resync({ ...options, reader }, { type: 'ListView', value: 'l' }, () => true, signal)
      : await readAgain({ ...options, reader }, ['vm-1'], signal)
    t.match(seen(), { cpus: 2 }, 'until it is read')
    t.same(changed.doubted, [])
    t.same(answers, [], 'it was held at first')
  }
})

/** The VMs that a read asks for. */
function vmsIn(specs: readonly string[]): string[] {
  return [...specs.join().matchAll(/<obj type="VirtualMachine">([^<]+)</g)].map(([, vm = '']) => vm)
}

/** A VM with the UUID "u-" and its moref. */
function running(vm: string): ObjectContent {
  const properties = new Map([
    ['config.uuid', value(`u-${vm}`)],
    ['summary.config.numEthernetCards', value('0')],
    ['runtime.powerState', value('poweredOn')],
    ['runtime.connectionState', value('connected')],
  ])
  return {
    reference: { type: 'VirtualMachine', value: vm },
    properties,
    missing: new Map(),
    excess: undefined,
  }
}

t.test('VMs are answered group by group: a failure of vCenter leaves the others wanted', async (t) => {
  const { options } = setUp()
  const { store } = options
  const vms = Array.from({ length: 4_500 }, (_, i) => `vm-${i}`)
  const answered = () => vms.filter((vm) => store.lookup(`u-${vm}`).state === 'answered').length
  let fails = true
  /** How many were answered when each read began, and each time that some were. */
  const [atReads, told]: [number[], number[]] = [[], []]
  const reader: PropertyReader = {
    async read(specs, take) {
      atReads.push(answered())
      const asked = vmsIn(specs)
      if (fails && asked.includes('vm-4000')) throw new VCenterError('Unreachable', 'it has gone')
      for (const vm of asked) take(running(vm))
    },
  }
  const locator = {
    ...options.locator,
    locate: async (uuids: readonly string[]) =>
      new Map(uuids.map((uuid) => [uuid, { vms: [uuid.slice(2)], fresh: true }])),
  }
  const all = {
    ...options,
    reader,
    locator,
    suspects: createSuspects(reader),
    onAnswered: () => told.push(answered()),
  }
  for (const vm of vms) store.follow(`u-${vm}`)
  await t.rejects(locateWanted(all, signal), { message: 'it has gone' })
  t.same(atReads, [0, 250, 750, 1_750, 1_750, 3_750], 'the first wait for few')
  t.same(told, [250, 750, 1_750, 3_750])
  t.equal(store.wanted().length, 750)
  fails = false
  await locateWanted(all, signal)
  t.equal(answered(), 4_500)
  t.same(store.wanted(), [])
})

t.test(
  'of very many VMs that are refused none is ever said not to be there, and all others are read',
  async (t) => {
    const { options } = setUp()
    const { store } = options
    const vms = Array.from({ length: 300 }, (_, i) => `vm-${i}`)
    const refused = new Set<string>()
    let calls = 0
    const reader: PropertyReader = {
      async read(specs, take) {
        calls++
        const asked = vmsIn(specs)
        if (asked.some((vm) => refused.has(vm)))
          throw new SoapFault('NoPermission', '', { type: 'Folder', value: 'group-d1' })
        for (const vm of asked) take(running(vm))
      },
    }
    // As vCenter does, it leaves out what the account may not see.
    const locator = {
      ...options.locator,
      locate: async (uuids: readonly string[]) =>
        new Map(
          uuids.map((uuid) => {
            const vm = uuid.slice(2)
            return [uuid, { vms: refused.has(vm) ? [] : [vm], fresh: true }]
          }),
        ),
    }
    const all = { ...options, reader, locator, suspects: createSuspects(reader) }
    const count = (state: string) => vms.filter((vm) => store.lookup(`u-${vm}`).state === state).length
    /** Attempts until nothing is wanted; returns how many. */
    const locateAll = async () => {
      let attempts = 0
      for (; store.wanted().length > 0; attempts++) {
        const before = calls
        await locateWanted(all, signal)
        t.ok(calls - before <= 40, `${calls - before} calls`)
        t.ok(attempts < 30, `${attempts} attempts`)
        for (const vm of vms) {
          const answer = store.lookup(`u-${vm}`)
          if (answer.state === 'answered' && answer.vms.length === 0) t.fail(`${vm} is said not to be there`)
        }
      }
      return attempts
    }
    for (const vm of vms) store.follow(`u-${vm}`)
    t.equal(await locateAll(), 1)
    t.equal(count('answered'), 300)

    for (const vm of vms.slice(50, 250)) refused.add(vm)
    await readAgain(all, vms, signal)
    await locateAll()
    t.same([count('answered'), count('failed')], [100, 200])

    const before = calls
    store.wantFailed()
    t.equal(await locateAll(), 1, 'those that were refused are tried again a few at a time')
    t.ok(calls - before <= 40, `${calls - before} calls`)
    t.same([count('answered'), count('failed')], [100, 200])

    for (const vm of vms.slice(150, 250)) refused.delete(vm)
    let turns = 0
    for (; count('answered') < 200 && turns < 30; turns++) {
      store.wantFailed()
      await locateAll()
    }
    t.same([count('answered'), count('failed')], [200, 100], `after ${turns} turns`)
  },
)
