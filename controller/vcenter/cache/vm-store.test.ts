import t from 'tap'
import type { VMProperties } from '../properties/resync-properties.ts'
import { VCenterError } from '../wire/errors.ts'
import { VMStore } from './vm-store.ts'

const machine = (
  moref: string,
  biosUUID: string | undefined,
  more: Partial<VMProperties> = {},
): VMProperties => ({
  moref,
  name: moref,
  biosUUID,
  instanceUUID: undefined,
  template: false,
  faultTolerance: undefined,
  connectionState: 'connected',
  powerState: 'poweredOn',
  cpus: 2,
  memoryMB: 1024,
  guestID: '',
  nics: [],
  guestNICs: [],
  staticAddresses: [],
  unreadable: [],
  changeVersion: undefined,
  claim: undefined,
  host: { type: 'HostSystem', value: 'h' },
  placedOn: { type: 'HostSystem', value: 'h' },
  customValues: [],
  resourcePool: undefined,
  parent: undefined,
  vApp: undefined,
  ...more,
})

function setUp() {
  const changes: string[][] = []
  let cluster = 'c1'
  let now = 0
  const store = new VMStore({
    vCenter: () => ({ name: 'lab', instanceUUID: 'i' }),
    place: () => ({ host: 'h', cluster, datacenter: 'd', ancestry: undefined }),
    onChange: (uuids) => changes.push([...uuids].sort()),
    monotonic: () => now,
  })
  for (const uuid of ['u1', 'u2']) store.follow(uuid)
  store.answer(
    new Map([
      ['u1', { vms: [machine('vm-1', 'u1')] }],
      ['u2', { vms: [] }],
    ]),
  )
  changes.length = 0
  const states = () =>
    ['u1', 'u2'].map((uuid) => {
      const answer = store.lookup(uuid)
      return answer.state === 'answered' ? answer.vms.map((vm) => vm.moref).join() : answer.state
    })
  const setCluster = (name: string) => (cluster = name)
  return { store, changes, states, setCluster, turn: (ms: number) => (now += ms) }
}

t.test('answers', (t) => {
  const { store, changes, states } = setUp()
  t.same(states(), ['vm-1', ''])
  t.same(store.wanted(), [])
  t.equal(store.follow('u1'), false)
  store.answer(
    new Map([
      ['u1', { vms: [machine('vm-1', 'u1')] }],
      ['other', { vms: [machine('vm-9', 'other')] }],
    ]),
  )
  t.same(changes, [], 'the same again is no change; what is not followed is passed over')
  t.same([...store.vms()], ['vm-1'])
  store.answer(new Map([['u1', { vms: [machine('vm-1', 'u1'), machine('vm-2', 'u1')] }]]))
  t.same(states(), ['vm-1,vm-2', ''])
  store.answer(new Map([['u1', new VCenterError('NoPermission', 'no')]]))
  t.same(states(), ['failed', ''])
  t.same(changes, [['u1'], ['u1']])
  t.ok(store.wantFailed())
  t.same(store.wanted(), ['u1'])
  store.answer(new Map([['u1', { vms: [machine('vm-2', 'u1')] }]]))
  t.same([...store.vms()], ['vm-2'])
  t.ok(store.unfollow('u1'))
  t.same([...store.vms()], [])
  t.notOk(store.unfollow('u2'), 'no VM was followed by it')
  t.end()
})

t.test('what is parked stays as it is, and is wanted again', (t) => {
  const { store, changes, states } = setUp()
  store.follow('u3')
  store.follow('u4')
  store.want('u1')
  store.park(['u1', 'u3', 'u4'])
  t.same(store.wanted(), [])
  t.same(states(), ['vm-1', ''], 'what is known stays')
  store.unfollow('u4')
  store.want('u3')
  const before = store.wants()
  t.ok(store.wantFailed())
  t.same(store.wanted(), ['u3', 'u1'])
  t.equal(store.wants(), before + 1, 'one that is wanted already may be under way')
  store.park(['u1', 'u3'])
  store.answer(new Map(['u1', 'u3'].map((uuid) => [uuid, { vms: [] }])))
  t.ok(store.wantFailed(), 'an answer may be older')
  store.answer(new Map(['u1', 'u3'].map((uuid) => [uuid, { vms: [] }])))
  t.notOk(store.wantFailed(), 'once')
  changes.length = 0
  t.same(changes, [])
  t.end()
})

t.test('an answer that is not complete is told, and searched for again until it is', (t) => {
  const { store, changes, states } = setUp()
  const vms = [machine('vm-1', 'u1')]
  const incomplete = { reason: 'NoPermission', message: 'no' } as const
  const told = () => {
    const answer = store.lookup('u1')
    return answer.state === 'answered' ? answer.incomplete : answer.state
  }
  store.answer(new Map([['u1', { vms, incomplete }]]))
  t.same([states()[0], told()], ['vm-1', incomplete])
  t.same(changes, [['u1']])
  store.answer(new Map([['u1', { vms, incomplete: { ...incomplete } }]]))
  t.same(changes, [['u1']], 'once')
  t.ok(store.wantFailed())
  store.answer(new Map([['u1', { vms }]]))
  t.same([states()[0], told()], ['vm-1', undefined])
  t.same(changes, [['u1'], ['u1']])
  t.notOk(store.wantFailed())
  store.answer(new Map([['u1', { vms, incomplete }]]))
  store.answer(new Map([['u1', new VCenterError('NoPermission', 'no')]]))
  store.answer(new Map([['u1', { vms }]]))
  t.equal(told(), undefined, 'nothing is left of it')
  t.end()
})

t.test('a VM takes another UUID: both are in doubt', (t) => {
  const { store, changes, states } = setUp()
  store.update([machine('vm-1', 'u2')])
  t.same(states(), ['pending', 'pending'])
  t.same([...store.wanted()].sort(), ['u1', 'u2'])
  t.same(changes, [['u1', 'u2']])
  store.answer(
    new Map([
      ['u2', { vms: [machine('vm-1', 'u2')] }],
      ['u1', { vms: [] }],
    ]),
  )
  t.same(states(), ['', 'vm-1'], 'in whatever order the answers come')
  t.end()
})

t.test('a VM that takes and leaves the UUID of another casts no doubt on that one', (t) => {
  const { store, states } = setUp()
  store.answer(new Map([['u1', { vms: [machine('vm-1', 'u1'), machine('vm-t', 'u1')] }]]))
  for (let i = 0; i < 100; i++) {
    t.same(store.update([machine('vm-t', i % 2 === 0 ? 'other' : 'u1')]).doubted, i % 2 === 0 ? ['u1'] : [])
    t.equal(states()[0], 'vm-1,vm-t')
    t.same(store.wanted(), ['u1'], 'searched for all the same')
  }
  store.update([machine('vm-t', 'other')])
  store.update([machine('vm-1', 'other')])
  t.equal(states()[0], 'pending', 'now no VM is known to have it')
  t.end()
})

t.test('a VM loses its UUID: it stays what it was', (t) => {
  const { store, changes, states } = setUp()
  store.update([machine('vm-1', undefined, { connectionState: 'inaccessible' })])
  t.same(states(), ['vm-1', ''])
  t.same(store.wanted(), [])
  t.same(changes, [['u1']])
  t.end()
})

t.test('a VM leaves: pending until asked', (t) => {
  const { store, changes, states } = setUp()
  store.leave(['vm-1', 'vm-7'])
  t.same(states(), ['pending', ''])
  t.same(store.wanted(), ['u1'])
  t.same(store.vmsOf('u1'), ['vm-1'], 'it is to be asked by reference too')
  t.same(changes, [['u1']])
  t.end()
})

t.test('whether a VM vanished alone is known once all have been read again', (t) => {
  const { store, changes } = setUp()
  const unread = (uuid: string) => {
    const answer = store.lookup(uuid)
    return answer.state === 'answered' && answer.othersUnread === true
  }
  t.notOk(unread('u2'), 'there never was one')
  const under = store.beginRead()
  store.leave(['vm-1'])
  store.answer(new Map([['u1', { vms: [] }]]))
  t.ok(unread('u1'))
  store.endRead(under)
  t.ok(unread('u1'), 'a read that was under way may have passed the others by')
  const next = store.beginRead()
  changes.length = 0
  store.endRead(next)
  t.notOk(unread('u1'))
  t.same(changes, [['u1']], 'which is told')
  store.endRead(next)
  t.same(changes, [['u1']], 'once')
  store.answer(new Map([['u1', { vms: [machine('vm-1', 'u1')] }]]))
  store.leave(['vm-1'])
  t.notOk(store.isAnswered(['u1']), 'what is in doubt is to be answered first')
  t.ok(store.isAnswered(['u2', 'nobody follows it']))
  t.end()
})

t.test('a VM that is lost was shown until there was doubt, or until vCenter fell silent', (t) => {
  const { store, turn } = setUp()
  const shownUntil = (uuid: string) => {
    const answer = store.lookup(uuid)
    return answer.state === 'answered' ? answer.shownUntil : answer.state
  }
  const found = new Map([['u1', { vms: [machine('vm-1', 'u1')] }]])
  const lost = new Map([['u1', { vms: [] }]])
  t.equal(shownUntil('u2'), undefined, 'there never was one')
  turn(100)
  store.leave(['vm-1'])
  turn(20)
  store.answer(lost)
  t.equal(shownUntil('u1'), 100, 'the search took a while')
  turn(100)
  store.answer(found)
  t.equal(shownUntil('u1'), undefined, 'it is shown')
  store.answer(lost)
  t.equal(shownUntil('u1'), 220, 'a search finds it gone, unasked')
  store.answer(found)
  store.wantAll(200)
  turn(100)
  store.wantAll(300)
  store.leave(['vm-1'])
  store.answer(lost)
  t.equal(shownUntil('u1'), 200, 'nothing was answered in between')
  store.answer(found)
  store.wantAll(310)
  turn(100)
  store.answer(found)
  turn(100)
  store.leave(['vm-1'])
  store.answer(lost)
  t.equal(shownUntil('u1'), 520, 'it was there when vCenter was back')
  store.answer(found)
  store.answer(new Map([['u1', new VCenterError('NoPermission', 'no')]]))
  turn(100)
  store.answer(lost)
  t.equal(shownUntil('u1'), 520, 'it could not be read since')
  t.end()
})

t.test('only what differs is told', (t) => {
  const { store, changes, setCluster } = setUp()
  store.update([machine('vm-1', 'u1')])
  store.refresh()
  t.same(changes, [])
  store.update([machine('vm-1', 'u1', { host: { type: 'HostSystem', value: 'other' } })])
  t.same(changes, [], 'references are not facts')
  setCluster('c2')
  store.refresh()
  t.same(changes, [['u1']])
  store.wantAll(0)
  t.equal(store.lookup('u1').state, 'answered', 'asking again casts no doubt')
  t.end()
})

t.test('what was not read is neither there nor gone, and is searched for next', (t) => {
  const { store, changes, states } = setUp()
  store.answer(new Map([['u2', new VCenterError('NoPermission', 'refused')]]))
  t.equal(store.wantFailed(), true)
  store.want('u1')
  changes.length = 0
  store.postpone(['u1', 'u2', 'unknown'])
  t.same(states(), ['pending', 'failed'], 'one that had failed stays so')
  t.same(store.wanted(), ['u1'], 'and waits for its turn')
  t.same(changes, [['u1']])
  t.end()
})

t.test('of those that failed, the one that was tried last comes last the next time', (t) => {
  const { store } = setUp()
  const refused = new VCenterError('NoPermission', 'refused')
  for (const uuid of ['u2', 'u1', 'u2']) store.answer(new Map([[uuid, refused]]))
  store.wantFailed()
  t.same(store.wanted(), ['u1', 'u2'])
  for (const uuid of ['u1', 'u2']) store.answer(new Map([[uuid, refused]]))
  store.wantFailed()
  store.postpone(['u2'])
  store.answer(new Map([['u1', refused]]))
  store.wantFailed()
  t.same(store.wanted(), ['u2', 'u1'])
  t.end()
})

t.test('when another vCenter answers, nothing of the one before is shown as its own', async (t) => {
  const changes: string[][] = []
  let instanceUUID = 'i'
  const store = new VMStore({
    vCenter: () => ({ name: 'lab', instanceUUID }),
    place: () => ({ host: 'h', cluster: 'c', datacenter: 'd', ancestry: undefined }),
    onChange: (uuids) => changes.push([...uuids].sort()),
    monotonic: () => 0,
  })
  for (const uuid of ['u1', 'u2', 'u3']) store.follow(uuid)
  store.answer(
    new Map([
      ['u1', { vms: [machine('vm-1', 'u1')] }],
      ['u2', { vms: [] }],
      ['u3', { vms: [machine('vm-3', 'u3')] }],
    ]),
  )
  changes.length = 0
  instanceUUID = 'j'
  store.forgetAll()
  store.refresh()
  t.same(
    ['u1', 'u2', 'u3'].map((uuid) => store.lookup(uuid)),
    [{ state: 'pending' }, { state: 'pending' }, { state: 'pending' }],
  )
  t.same(changes, [['u1', 'u2', 'u3']])
  t.same(store.wanted(), ['u1', 'u2', 'u3'])
  t.same(store.vms(), new Set())
  store.answer(
    new Map([
      ['u1', { vms: [] }],
      ['u3', { vms: [machine('vm-3', 'u3')] }],
    ]),
  )
  t.same(store.lookup('u1'), { state: 'answered', vms: [] }, 'not as one that it has lost')
  t.match(store.lookup('u3'), { vms: [{ moref: 'vm-3', vCenter: { instanceUUID: 'j' } }] })
})

t.test('a template that runs is a VM again, which vCenter does not push', (t) => {
  const { store } = setUp()
  const templates = (powerState: VMProperties['powerState']) => {
    store.answer(new Map([['u1', { vms: [machine('vm-1', 'u1', { template: true, powerState })] }]]))
    const answer = store.lookup('u1')
    return answer.state === 'answered' && answer.vms.map(({ template }) => template)
  }
  t.same(templates('poweredOff'), [true])
  t.same(templates('poweredOn'), [false])
  t.end()
})
