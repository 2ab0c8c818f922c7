import t from 'tap'
import { after, BIOS_UUID, decide, NOW, SETTINGS, settled, vm } from '../../../../../test/fixtures/facts.ts'
import type { Taint } from '../../../../types/node.ts'
import type { ConnectionState, PowerState, VirtualMachine } from '../../../../types/virtual-machine.ts'
import type { NodeFacts } from '../node-facts.ts'
import { OUT_OF_SERVICE } from './out-of-service.ts'
import { judgeShutdown, SHUTDOWN } from './shutdown-taint.ts'

const OTHER: Taint = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }
const HIDDEN: Taint = { key: SHUTDOWN.key, effect: 'NoExecute' }
const ALL_BUT_OUT_OF_SERVICE = { shutdown: true, outOfService: false }
const A_PERSONS: Taint = { ...OUT_OF_SERVICE, value: 'nodeshutdown' }

/** What each state is called where vCenter can see the VM. */
const REASONS: Readonly<Record<PowerState, string>> = {
  poweredOn: 'VMFound',
  poweredOff: 'VMPoweredOff',
  suspended: 'VMSuspended',
}

/** The taint after each state, from without it and from with it. */
const TABLE: Readonly<Record<ConnectionState, Readonly<Record<PowerState, 'gone' | 'there' | 'kept'>>>> = {
  connected: { poweredOn: 'gone', poweredOff: 'there', suspended: 'there' },
  disconnected: { poweredOn: 'kept', poweredOff: 'kept', suspended: 'kept' },
  inaccessible: { poweredOn: 'kept', poweredOff: 'kept', suspended: 'kept' },
  invalid: { poweredOn: 'kept', poweredOff: 'kept', suspended: 'kept' },
  orphaned: { poweredOn: 'kept', poweredOff: 'kept', suspended: 'kept' },
}

/** As a settled Node sees this VM, tainted so. */
function seeing(changes: Partial<VirtualMachine>, taints: readonly Taint[] = []): NodeFacts {
  const facts = settled({ vms: [vm(changes)] })
  return { ...facts, node: { ...facts.node, taints } }
}

const found = (facts: NodeFacts) => facts.report?.status.conditions?.find(({ type }) => type === 'VMFound')

for (const [connection, row] of Object.entries(TABLE)) {
  for (const [power, expected] of Object.entries(row)) {
    t.test(`${connection} and ${power}: ${expected}`, async (t) => {
      // The keys of an object are strings to the compiler.
      const states = { connectionState: connection as ConnectionState, powerState: power as PowerState }
      for (const ready of ['True', 'False', 'Unknown', undefined]) {
        for (const before of [[OTHER], [SHUTDOWN, OTHER]]) {
          const facts = seeing(states, before)
          const condition =
            ready === undefined ? undefined : { status: ready, lastHeartbeatTime: '2026-03-01T09:00:00Z' }
          const first = { ...facts, node: { ...facts.node, ready: condition } }
          const next = after(first, decide(first))
          const there = expected === 'kept' ? before.includes(SHUTDOWN) : expected === 'there'
          const { taints } = next.node
          t.equal(taints.includes(SHUTDOWN), there, `Ready ${ready}`)
          t.ok(taints.includes(OTHER))
          t.equal(taints.length, there ? 2 : 1)
          t.match(
            found(next),
            expected === 'kept'
              ? { status: 'Unknown', reason: 'VMNotConnected' }
              : { status: 'True', reason: REASONS[states.powerState] },
          )
          t.match(found(next)?.message, vm().name)
          const again = decide(next)
          t.equal(again.patch, undefined, 'a second look changes nothing')
          t.same(again.events, [])
          t.equal(next.report?.status.identityLevel, 'proven')
        }
      }
    })
  }
}

t.test('what is said', async (t) => {
  const said = (changes: Partial<VirtualMachine>, taints: readonly Taint[] = []) => {
    const decision = decide(seeing(changes, taints))
    return decision.events.map(({ type, reason }) => `${type} ${reason}`)
  }
  t.same(said({ powerState: 'poweredOff' }), ['Warning VMShutDown'])
  t.same(said({ powerState: 'suspended' }), ['Warning VMShutDown'])
  t.same(said({ powerState: 'poweredOff' }, [SHUTDOWN]), [])
  t.same(said({}, [SHUTDOWN]), ['Normal VMRuns'])
  t.same(said({}), [])
  t.same(said({ connectionState: 'disconnected' }), ['Warning VMNotConnected'])
  t.same(said({ connectionState: 'disconnected' }, [SHUTDOWN]), ['Warning VMNotConnected'])
})

t.test('only its own taints are taken away', async (t) => {
  const { node } = settled()
  const taken = (...taints: Taint[]) =>
    judgeShutdown(vm(), { ...node, taints }, ALL_BUT_OUT_OF_SERVICE).taints
  t.same(taken(SHUTDOWN, OUT_OF_SERVICE, OTHER), [OTHER])
  t.same(taken(OUT_OF_SERVICE), [])
  t.equal(taken(A_PERSONS), undefined)
  t.equal(taken(HIDDEN), undefined, 'another effect is another taint')
  t.same(taken(SHUTDOWN, A_PERSONS), [A_PERSONS])
  t.same(
    taken({ ...SHUTDOWN, value: 'true', timeAdded: '2026-03-01T09:00:00Z' }),
    [],
    'another cloud provider’s is the same',
  )
})

t.test('with lifecycle.shutdownTaint: false nobody is tainted, and no taint is taken', async (t) => {
  const settings = { ...SETTINGS, lifecycle: { ...SETTINGS.lifecycle, shutdownTaint: false } }
  const decided = (changes: Partial<VirtualMachine>, taints: readonly Taint[] = []) =>
    decide({ ...seeing(changes, taints), settings })
  const off = decided({ powerState: 'poweredOff' })
  t.equal(off.patch, undefined)
  t.match(
    off.status?.conditions?.find(({ type }) => type === 'VMFound')?.message,
    /pods may still be scheduled/,
  )
  t.equal(decided({}, [SHUTDOWN]).patch, undefined)
  t.same(decided({}, [SHUTDOWN, OUT_OF_SERVICE]).patch?.taints, [SHUTDOWN])
})

t.test('both taints come in one patch where both are due', async (t) => {
  const { node } = settled()
  const off = vm({ powerState: 'poweredOff' })
  const { taints, events } = judgeShutdown(
    off,
    { ...node, taints: [OTHER] },
    {
      shutdown: true,
      outOfService: true,
    },
  )
  t.same(taints, [OTHER, SHUTDOWN, OUT_OF_SERVICE])
  t.same(
    events.map(({ reason }) => reason),
    ['VMShutDown', 'OutOfService'],
  )
})

t.test('what guest and host say no more of a VM that is off changes nothing', async (t) => {
  const first = settled()
  const off = vm({ powerState: 'poweredOff', guestNICs: [], claim: undefined, host: undefined })
  const lookups = first.lookups.map((each) => ({
    ...each,
    lookup: { state: 'answered' as const, vms: [off] },
  }))
  const next = after({ ...first, lookups }, decide({ ...first, lookups }))
  t.same(next.node.addresses, first.node.addresses)
  t.same(next.node.labels, first.node.labels)
  t.same(next.report?.status.addresses, first.report?.status.addresses)
  t.equal(next.report?.status.identityLevel, 'proven')
})

t.test('the grace of a proof does not run while the VM is off', async (t) => {
  const claim = 'v1 11111111-2222-4333-8444-555555555555 00000000-8888-4777-8666-555555555555'
  const see = (before: NodeFacts, changes: Partial<VirtualMachine>, now: number): NodeFacts => {
    const lookup = { state: 'answered' as const, vms: [vm(changes)] }
    const facts = { ...before, now, lookups: [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup }] }
    return after(facts, decide(facts))
  }
  const day = 86_400_000
  const minute = 60_000
  const rebooted = see(settled(), { claim }, NOW)
  t.equal(rebooted.report?.status.provenUntil, '2026-03-01T10:15:00Z')
  const off = see(rebooted, { claim, powerState: 'poweredOff' }, NOW + 10 * minute)
  t.equal(off.report?.status.provenUntil, undefined)
  const longOff = see(off, { claim, powerState: 'poweredOff' }, NOW + 30 * day)
  t.equal(longOff.report?.status.identityLevel, 'proven')
  const back = see(longOff, { claim }, NOW + 30 * day)
  t.equal(back.report?.status.identityLevel, 'proven')
  t.equal(back.report?.status.provenUntil, '2026-03-31T10:15:00Z', 'it begins when the VM runs')
  t.equal(see(back, {}, NOW + 30 * day + minute).report?.status.provenUntil, undefined)
  const late = see(back, { claim }, NOW + 30 * day + 15 * minute)
  t.equal(late.report?.status.identityLevel, 'reported')
})

t.test('a VM that is off is not missing', async (t) => {
  const facts = seeing({ powerState: 'poweredOff' })
  const gone = { ...facts, evidence: undefined }
  t.equal(decide(gone).deletion, undefined)
  t.equal(decide(gone).probePlan, undefined)
  const { conditions = [] } = after(gone, decide(gone)).report?.status ?? {}
  t.notOk(conditions.some(({ type }) => type === 'DeletionPending'))
})

t.test('of a VM that is suspended nothing is asked, for its Node is never out of service', async (t) => {
  const settings = { ...SETTINGS, lifecycle: { ...SETTINGS.lifecycle, outOfServiceAfter: 600_000 } }
  t.equal(decide({ ...seeing({ powerState: 'poweredOff' }), settings }).probePlan?.due, true)
  t.equal(decide({ ...seeing({ powerState: 'suspended' }), settings }).probePlan, undefined)
})

t.test('a Node that is verified to be no VM is not tainted', async (t) => {
  const facts = seeing({ powerState: 'poweredOff' })
  const { report } = facts
  if (report === undefined) throw new Error('a settled Node has a report')
  const { identityLevel: _, ...status } = report.status
  const decision = decide({ ...facts, report: { ...report, status } })
  t.equal(decision.patch?.taints, undefined)
  const former = { ...report.status, nodeUID: 'another' }
  t.equal(decide({ ...facts, report: { ...report, status: former } }).patch?.taints, undefined)
})

t.test('the time of the condition is that of the power-off, and then of the power-on', async (t) => {
  const time = (facts: NodeFacts) => found(facts)?.lastTransitionTime
  const later = (facts: NodeFacts, changes: Partial<VirtualMachine>, minutes: number) => {
    const { lookups } = settled({ vms: [vm(changes)] })
    const next = { ...facts, lookups, now: NOW + minutes * 60_000 }
    return after(next, decide(next))
  }
  const off = later(settled(), { powerState: 'poweredOff' }, 1)
  t.equal(time(off), '2026-03-01T10:01:00Z')
  t.equal(time(later(off, { powerState: 'poweredOff', host: 'esx-2' }, 2)), '2026-03-01T10:01:00Z')
  const on = later(off, {}, 3)
  t.equal(time(on), '2026-03-01T10:03:00Z')
  t.match(found(later(on, {}, 4)), { reason: 'VMFound', lastTransitionTime: '2026-03-01T10:03:00Z' })
})
