import { pino } from 'pino'
import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { aborted } from '../lib/tasks.ts'
import { createVMLocations } from './cache/vm-locations.ts'
import { VMStore } from './cache/vm-store.ts'
import { createDebounce } from './collect/pace.ts'
import type { TagReader } from './collect/tags.ts'
import { keepTagsRead } from './keep-tags-read.ts'
import { readMachine } from './properties/resync-properties.ts'
import { TIMINGS } from './timings.ts'
import { VCenterError } from './wire/errors.ts'
import { keyOf } from './wire/managed-object-reference.ts'
import type { XMLElement } from './wire/xml.ts'

/** Tags kept read for VMs that come one by one, by a reader that does as told. */
function setUp(read: TagReader['read'], more: Partial<TagReader> = {}) {
  const clock = createHandClock()
  const end = new AbortController()
  const changed: string[] = []
  const placed: string[] = []
  let allRead = 0
  const locations = createVMLocations({ tagging: true })
  const store = new VMStore({
    vCenter: () => ({ name: 'vc', instanceUUID: 'i' }),
    place(machine) {
      placed.push(machine.moref)
      return locations.place(machine)
    },
    onChange: (uuids) => void changed.push(...uuids),
    monotonic: () => 0,
  })
  const trigger = createDebounce(TIMINGS.tags, clock)
  const running = keepTagsRead(
    {
      tagReader: {
        read,
        refreshNames: () => undefined,
        lastAnswer: () => 0,
        lacking: () => new Map(),
        ...more,
      },
      trigger,
      store,
      locations,
      onAllRead: () => void allRead++,
      timings: TIMINGS,
      clock,
      random: () => 0.5,
      logger: pino({ level: 'silent' }),
    },
    end.signal,
  )
  return {
    clock,
    changed,
    placed,
    allRead: () => allRead,
    locations,
    /** @param folder its reference, of one that is known */
    follow(vm: string, folder?: string) {
      const value = (text: string, kind?: string): XMLElement => ({
        name: 'val',
        type: undefined,
        kind,
        text,
        children: [],
      })
      const properties = new Map([['config.uuid', value(vm)]])
      if (folder !== undefined) properties.set('parent', value(folder, 'Folder'))
      store.follow(vm)
      store.answer(new Map([[vm, { vms: [readMachine(vm, properties, undefined)] }]]))
      trigger.trigger()
    },
    ancestry(vm: string) {
      const answer = store.lookup(vm)
      return answer.state === 'answered' ? answer.vms[0]?.ancestry : undefined
    },
    async end() {
      end.abort()
      await running
      t.equal(clock.sleepers, 0)
    },
  }
}

const giveTags: TagReader['read'] = async (objects, take) => {
  const tags = { tags: [{ category: 'zone', name: 'z' }], problems: [] }
  take(new Map(objects.map((each) => [keyOf(each), tags])))
}

t.test('while tags cannot be read, VMs that come are not held up', async (t) => {
  let down = true
  let reads = 0
  const { clock, follow, ancestry, end } = setUp(async (...call) => {
    reads++
    if (down) throw new VCenterError('Unavailable', 'status 503')
    await giveTags(...call)
  })
  follow('vm-0')
  await clock.turn(TIMINGS.tags.max)
  t.match(ancestry('vm-0')?.unreadable, [/503/])
  await clock.turn(60_000)
  for (let i = 1; i <= 20; i++) {
    follow(`vm-${i}`)
    await clock.turn(TIMINGS.tags.spacing)
    t.match(ancestry(`vm-${i}`)?.unreadable, [/503/], `vm-${i}`)
  }
  t.ok(reads <= 8, `${reads} attempts in 80 seconds`)
  down = false
  await clock.turn(300_000)
  for (let i = 0; i <= 20; i++)
    t.match(ancestry(`vm-${i}`), { unreadable: [], folder: [{ tags: [{ name: 'z' }] }] })
  await end()
})

t.test('the tags of a new VM cost those that are known nothing', async (t) => {
  const { clock, placed, follow, ancestry, end } = setUp(giveTags)
  for (const vm of ['vm-0', 'vm-1']) follow(vm)
  await clock.turn(TIMINGS.tags.max)
  placed.length = 0
  follow('vm-2')
  await clock.turn(TIMINGS.tags.spacing)
  t.match(ancestry('vm-2'), { folder: [{ tags: [{ name: 'z' }] }] })
  t.same(placed, ['vm-2', 'vm-2'], 'with its answer, and with its tags')
  await end()
})

t.test('a category that has no tag any more concerns all VMs, though their tags are the same', async (t) => {
  let lacking: ReturnType<TagReader['lacking']> = new Map()
  const { clock, follow, ancestry, end } = setUp(giveTags, { lacking: () => lacking })
  follow('vm-0')
  await clock.turn(TIMINGS.tags.max)
  t.equal(ancestry('vm-0')?.lacking, undefined)
  lacking = new Map([['region', 'category']])
  await clock.turn(2 * TIMINGS.resync)
  t.same(ancestry('vm-0')?.lacking, lacking)
  await end()
})

t.test('a read of all tags counts when it has ended, and one that was under way does not', async (t) => {
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let reads = 0
  let down = false
  const { clock, allRead, follow, end } = setUp(async (...call) => {
    await answers[reads++]?.promise
    if (down) throw new VCenterError('Unavailable', 'status 503')
    await giveTags(...call)
  })
  follow('vm-0')
  await clock.turn(TIMINGS.tags.max)
  await clock.turn(2 * TIMINGS.resync)
  answers[0]?.resolve()
  await clock.turn(TIMINGS.tags.spacing)
  t.equal(allRead(), 0, 'the first read was of what was new')
  answers[1]?.resolve()
  await clock.turn(TIMINGS.tags.spacing)
  t.equal(allRead(), 1)
  down = true
  await clock.turn(2 * TIMINGS.resync)
  t.ok(reads > 2)
  t.equal(allRead(), 1, 'nor does one that failed')
  down = false
  await clock.turn(2 * TIMINGS.resync)
  t.ok(allRead() > 1)
  await end()
})

t.test('a read that takes long is waited for, by some VMs, for some time', async (t) => {
  const answer = Promise.withResolvers<void>()
  const { clock, follow, ancestry, end } = setUp(async (...call) => {
    await answer.promise
    await giveTags(...call)
  })
  follow('vm-0')
  await clock.turn(TIMINGS.callDeadline)
  t.equal(ancestry('vm-0'), undefined)
  await clock.turn(TIMINGS.tags.max)
  t.match(ancestry('vm-0')?.unreadable, [/tag service has not answered for 15 s/])
  follow('vm-1')
  await clock.turn(TIMINGS.tags.max)
  t.match(ancestry('vm-1')?.unreadable, [/tag service/])
  answer.resolve()
  await clock.turn(1)
  t.match(ancestry('vm-0'), { unreadable: [], folder: [{ tags: [{ name: 'z' }] }] })
  t.match(ancestry('vm-1'), { unreadable: [], folder: [{ tags: [{ name: 'z' }] }] })
  await end()
})

t.test('looking where nothing is to be read puts nothing off', async (t) => {
  const { clock, follow, ancestry, end } = setUp(giveTags)
  await clock.turn(TIMINGS.tags.quiet)
  follow('vm-0')
  await clock.turn(TIMINGS.tags.quiet)
  t.ok(ancestry('vm-0'))
  await end()
})

t.test('a tag that is attached later is told of by the next resync', async (t) => {
  let attached = false
  const { clock, changed, follow, ancestry, end } = setUp(async (objects, take, signal) => {
    if (attached) await giveTags(objects, take, signal)
    else take(new Map(objects.map((each) => [keyOf(each), { tags: [], problems: [] }])))
  })
  follow('vm-0')
  await clock.turn(TIMINGS.tags.max)
  t.match(ancestry('vm-0'), { unreadable: [], folder: [{ tags: [] }] })
  changed.length = 0
  attached = true
  await clock.turn(2 * TIMINGS.resync)
  t.match(ancestry('vm-0'), { folder: [{ tags: [{ name: 'z' }] }] })
  t.same(changed, ['vm-0'], 'its Node is looked at again, once')
  await end()
})

t.test('a service that answers call after call is waited for, until it falls silent', async (t) => {
  let lastAnswer = 0
  let renewed = 0
  const { clock, follow, ancestry, end } = setUp((_objects, _take, signal) => aborted(signal), {
    lastAnswer: () => lastAnswer,
    refreshNames: () => void renewed++,
  })
  follow('vm-0')
  for (let i = 0; i < 60; i++) {
    await clock.turn(4_000)
    lastAnswer = clock.monotonic()
    t.equal(ancestry('vm-0'), undefined)
  }
  await clock.turn(TIMINGS.callDeadline)
  t.match(ancestry('vm-0')?.unreadable, [/tag service has not answered for 15 s/])
  await clock.turn(2 * TIMINGS.resync)
  t.ok(renewed > 0, 'all names are asked for again with each resync')
  await end()
})

t.test('why a category has no tag is said of each VM', async (t) => {
  const lacking = new Map([['zone', 'category']] as const)
  const { clock, follow, ancestry, end } = setUp(giveTags, { lacking: () => lacking })
  follow('vm-0')
  await clock.turn(TIMINGS.tags.max)
  t.same(ancestry('vm-0')?.lacking, lacking)
  await end()
})

t.test('tags are read as often as messages and docs say', async (t) => {
  t.equal(TIMINGS.resync, 5 * 60_000)
})

/** Reads what is attached at the moment, unless tags may not be read, of which vCenter says nothing. */
function setUpRights() {
  const state = { hidden: false, lacking: false }
  const attached = new Map<string, readonly string[]>()
  const reads: string[][] = []
  const world = setUp(
    async (objects, take) => {
      reads.push(objects.map(({ value }) => value))
      const tagsOf = (vm: string) =>
        (state.hidden ? [] : (attached.get(vm) ?? [])).map((name) => ({ category: 'zone', name }))
      take(new Map(objects.map((each) => [keyOf(each), { tags: tagsOf(each.value), problems: [] }])))
    },
    { lacking: () => (state.hidden ? new Map([['zone', 'categories']] as const) : new Map()) },
  )
  const zones = () =>
    ['vm-0', 'vm-1', 'vm-2'].map((vm) =>
      world
        .ancestry(vm)
        ?.folder[0]?.tags.map(({ name }) => name)
        .join(),
    )
  return { ...world, state, attached, reads, zones }
}

t.test('where the right to read tags is lost, none that is new stands beside older ones', async (t) => {
  const { clock, follow, allRead, end, state, attached, reads, zones, ancestry } = setUpRights()
  for (const vm of ['vm-0', 'vm-1', 'vm-2']) attached.set(vm, [`zone of ${vm}`])
  follow('vm-0')
  await clock.turn(TIMINGS.tags.max)
  follow('vm-1')
  await clock.turn(TIMINGS.tags.spacing)
  t.same(reads, [['vm-0'], ['vm-1', 'vm-0']], 'one that is known is read again, in the same call')
  t.same(zones(), ['zone of vm-0', 'zone of vm-1', undefined])
  state.hidden = true
  follow('vm-2')
  await clock.turn(TIMINGS.tags.spacing)
  t.same(reads.slice(2), [
    ['vm-2', 'vm-0'],
    ['vm-0', 'vm-1', 'vm-2'],
  ])
  t.same(zones(), ['', '', ''])
  t.same(ancestry('vm-0')?.lacking, new Map([['zone', 'categories']]))
  t.equal(allRead(), 0, 'that was not in time')

  // Until all is read the next time, the others would say that they have none.
  state.hidden = false
  attached.set('vm-3', ['zone of vm-3'])
  follow('vm-3')
  await clock.turn(TIMINGS.tags.spacing)
  t.same(zones(), ['zone of vm-0', 'zone of vm-1', 'zone of vm-2'])
  t.equal(ancestry('vm-0')?.lacking, undefined)
  await end()
})

t.test('where no tag was seen, one that has none needs no other', async (t) => {
  const { clock, follow, end, reads } = setUpRights()
  for (const vm of ['vm-0', 'vm-1', 'vm-2']) {
    follow(vm)
    await clock.turn(TIMINGS.tags.spacing)
  }
  t.same(reads, [['vm-0'], ['vm-1'], ['vm-2']])
  await end()
})

t.test('where a tag that was known is another now, none that is new stands beside older ones', async (t) => {
  const { clock, follow, end, attached, reads, zones } = setUpRights()
  for (const vm of ['vm-0', 'vm-1', 'vm-2']) attached.set(vm, [`zone of ${vm}`])
  follow('vm-0')
  await clock.turn(TIMINGS.tags.max)
  follow('vm-1')
  await clock.turn(TIMINGS.tags.spacing)
  // Somebody deletes the category, and makes it anew.
  for (const vm of ['vm-0', 'vm-1', 'vm-2']) attached.set(vm, [`new zone of ${vm}`])
  follow('vm-2')
  await clock.turn(TIMINGS.tags.spacing)
  t.same(zones(), ['new zone of vm-0', 'new zone of vm-1', 'new zone of vm-2'])
  t.same(reads.slice(2), [
    ['vm-2', 'vm-0'],
    ['vm-0', 'vm-1', 'vm-2'],
  ])
  await end()
})

t.test('what is above a new VM is read again with it, as the nearest tag counts', async (t) => {
  const { clock, follow, end, attached, reads, ancestry, locations } = setUpRights()
  const folder = { type: 'Folder', value: 'group-v1' }
  locations.tree.put({ reference: folder, properties: new Map(), missing: new Map(), excess: undefined })
  attached.set('vm-0', ['zone of vm-0'])
  follow('vm-0', folder.value)
  await clock.turn(TIMINGS.tags.max)
  follow('vm-1', folder.value)
  await clock.turn(TIMINGS.tags.spacing)
  t.same(reads.splice(0), [
    ['vm-0', 'group-v1'],
    ['vm-1', 'group-v1', 'vm-0'],
  ])
  attached.set('group-v1', ['zone of the folder'])
  follow('vm-2', folder.value)
  await clock.turn(TIMINGS.tags.spacing)
  t.same(reads, [
    ['vm-2', 'group-v1', 'vm-0'],
    ['vm-0', 'group-v1', 'vm-1', 'vm-2'],
  ])
  for (const vm of ['vm-0', 'vm-1', 'vm-2'])
    t.match(ancestry(vm)?.folder[1]?.tags, [{ name: 'zone of the folder' }], vm)
  await end()
})
