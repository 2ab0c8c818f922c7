import t, { type Test } from 'tap'
import type { VcsimVM } from '../servers/control.ts'
import { followed } from '../world/deletion.ts'
import { condition, eventsOf, isInitialized, level } from '../world/objects.ts'
import { checkHeld } from './held.ts'
import { runTheme } from './refused.ts'
import { newcomers } from './rows/newcomers.ts'
import type { AttackRow } from './rows/row.ts'
import { type Forger, NO_CLAIM, openAttackStage, truth } from './stage.ts'
import { checkTold, claims, copyOf, createMarker, elsewhere, type Pair, show } from './tenant.ts'

const stage = await openAttackStage(t, { vms: 100, dcs: 2 }, { datacenters: ['DC0'] })
const { nodes, reports, events, vcsim } = stage
const foreign = stage.vms.filter(({ datacenter }) => datacenter === 'DC1')
stage.vms.splice(0, stage.vms.length, ...stage.vms.filter(({ datacenter }) => datacenter === 'DC0'))
const passed = await createMarker(stage)

let joining = 0

interface Prepared {
  readonly vm: VcsimVM
  readonly copy: VcsimVM
}

function spare(): VcsimVM {
  const vm = stage.vms.shift()
  if (vm === undefined) throw new Error('no VM is left')
  return vm
}

/** A VM that no Node has yet, and the tenant's, which is not its copy yet. */
function two(): Prepared {
  const vm = spare()
  return { vm, copy: elsewhere(stage, vm) }
}

interface JoinOptions {
  readonly macs?: boolean
  /** What happens to the copy before the Node is registered. */
  readonly made?: (copy: VcsimVM) => Promise<unknown>
}

/** Makes the copy, then registers the Node. */
async function join({ vm, copy }: Prepared, { made, ...options }: JoinOptions = {}): Promise<Pair> {
  await copyOf(stage, vm, { vm: copy, ...options })
  await made?.(copy)
  joining += 1
  return { node: await stage.forger(`joins-${joining}`, { vm }), copy }
}

async function reports201(t: Test, node: Forger, changes: Parameters<typeof truth>[1] = {}): Promise<void> {
  const { status, message } = await node.report(truth(node, changes))
  t.ok(status === 200 || status === 201, message)
}

const vmOf = ({ name }: Forger) => reports.last(name)?.status?.vm?.moref
const settles = async (t: Test, node: Forger, wanted: 'reported' | 'proven') => {
  await reports.until(`${node.name} is ${wanted}`, () => {
    const { status } = reports.last(node.name) ?? {}
    return (
      status?.identityLevel === wanted && condition(reports.last(node.name), 'Initialized')?.status === 'True'
    )
  })
  t.equal(vmOf(node), node.vm.ref)
  await nodes.until(`${node.name} is initialized`, () => level(nodes.last(node.name)) === wanted)
  t.equal(
    nodes.last(node.name)?.metadata.labels['topology.kubernetes.io/zone'],
    node.vm.cluster === 'DC0_C0' ? 'zone-a' : 'zone-b',
  )
}

/** The tenant's VM is no rival: the victim is initialized although it shows no claim. */
const noRival =
  (made: (copy: VcsimVM) => Promise<unknown>) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    const { node } = await join(two(), { made })
    await node.reported()
    await settles(t, node, 'reported')
    t.match(condition(reports.last(node.name), 'VMFound'), { status: 'True', reason: row.seen })
  }
const state = (change: Omit<Parameters<typeof vcsim.setState>[0], 'vm'>) => (vm: VcsimVM) =>
  vcsim.setState({ vm: vm.ref, ...change })

function outOfScope(): VcsimVM {
  const vm = foreign.shift()
  if (vm === undefined) throw new Error('no VM is left in the other datacenter')
  return vm
}

/** A Node that cannot show a claim, and waits. */
const silent = await join(two())
/** It goes on waiting, and says why. */
const waiting =
  (act: () => Promise<unknown>) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    await act()
    await passed()
    await checkHeld(t, stage, silent.node, row.seen)
    t.equal(vmOf(silent.node), undefined)
  }

/** Two VMs show the claim until this is done to the tenant's. */
const twice =
  (end: (copy: VcsimVM) => Promise<unknown>) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    const { node, copy } = await join(two())
    for (const vm of [node.vm, copy]) await show(stage, vm, claims.own(node))
    await reports201(t, node)
    await checkHeld(t, stage, node, row.seen)
    t.match(condition(reports.last(node.name), 'VMFound')?.message, /2 VMs show the claim/)
    await followed(stage, copy)
    await passed()
    t.notOk(isInitialized(nodes.last(node.name)))
    await end(copy)
    await settles(t, node, 'proven')
  }

await runTheme(t, newcomers, {
  'no claim': async (t, row) => {
    await reports201(t, silent.node, NO_CLAIM)
    await waiting(() => followed(stage, silent.node.vm, silent.copy))(t, row)
  },
  'no claim: made-up': waiting(() => show(stage, silent.copy, claims.madeUp(silent.node))),
  'no claim: guessed': waiting(() => show(stage, silent.copy, claims.guessed(silent.node))),
  'no claim: leader': waiting(async () => {
    await stage.newLeader()
    await passed()
    await followed(stage, silent.copy)
  }),
  'no claim: disconnected': waiting(() => state({ connectionState: 'disconnected' })(silent.copy)),
  'no claim: gone': async (t, row) => {
    await vcsim.destroy(silent.copy.ref)
    await settles(t, silent.node, 'reported')
    t.match(condition(reports.last(silent.node.name), 'VMFound'), { status: 'True', reason: row.seen })
  },
  'UUID alone': async (t, row) => {
    const pair = await join(two(), { macs: false })
    await pair.node.reported()
    await settles(t, pair.node, 'reported')
    await checkTold(t, stage, pair, { reason: row.seen })
  },

  'claim: made-up': async (t, row) => {
    const pair = await join(two())
    await show(stage, pair.copy, claims.madeUp(pair.node))
    await pair.node.proven()
    await settles(t, pair.node, 'proven')
    await checkTold(t, stage, pair, { reason: row.seen })
  },
  'claim: guessed': async (t, row) => {
    const pair = await join(two())
    await show(stage, pair.copy, claims.guessed(pair.node))
    await pair.node.proven()
    await settles(t, pair.node, 'proven')
    await checkTold(t, stage, pair, { reason: row.seen })
  },
  'claim: not visible yet': async (t, row) => {
    const { node, copy } = await join(two())
    await reports201(t, node)
    await checkHeld(t, stage, node, row.seen)
    await followed(stage, node.vm, copy)
    await show(stage, node.vm, claims.own(node))
    await settles(t, node, 'proven')
  },
  'claim: second comes late': async (t, row) => {
    const { vm, copy } = two()
    const node = await stage.forger('comes-first', { vm })
    await reports201(t, node)
    await settles(t, node, 'reported')
    await copyOf(stage, vm, { vm: copy })
    await followed(stage, vm, copy)
    await show(stage, copy, claims.madeUp(node))
    await passed()
    await checkTold(t, stage, { node, copy }, { reason: row.seen })
    await settles(t, node, 'reported')
    await show(stage, vm, claims.own(node))
    await settles(t, node, 'proven')
  },
  'claim: shown twice': twice((copy) => show(stage, copy, '')),
  'claim: shown twice, destroyed': twice((copy) => vcsim.destroy(copy.ref)),
  'claim: another VM is off': async (t, row) => {
    const pair = await join(two(), { made: state({ powerState: 'poweredOff' }) })
    await show(stage, pair.copy, claims.own(pair.node))
    await pair.node.proven()
    await settles(t, pair.node, 'proven')
    t.match(condition(reports.last(pair.node.name), 'VMFound'), { status: 'True', reason: row.seen })
  },
  'claim: out of scope': async (t, row) => {
    const { node, copy } = await join({ vm: spare(), copy: outOfScope() })
    await show(stage, copy, claims.own(node))
    await node.proven()
    await settles(t, node, 'proven')
    t.match(condition(reports.last(node.name), 'VMFound'), { status: 'True', reason: row.seen })
  },

  off: noRival(state({ powerState: 'poweredOff' })),
  suspended: noRival(state({ powerState: 'suspended' })),
  template: noRival(async ({ name }) => {
    await vcsim.govc('vm.power', '-dc', 'DC0', '-off', name)
    await vcsim.govc('vm.markastemplate', '-dc', 'DC0', name)
  }),
  orphaned: noRival(state({ connectionState: 'orphaned' })),
  invalid: noRival(state({ connectionState: 'invalid' })),
  'out of scope': async (t, row) => {
    const { node } = await join({ vm: spare(), copy: outOfScope() })
    await node.reported()
    await settles(t, node, 'reported')
    t.match(condition(reports.last(node.name), 'VMFound'), { status: 'True', reason: row.seen })
  },
  'later out of scope': async (t, row) => {
    const { vm, copy } = two()
    const node = await stage.forger('stays-in-scope', { vm })
    await node.proven()
    await followed(stage, vm)
    await copyOf(stage, vm, { vm: copy })
    await vcsim.move({ vm: copy.ref, host: 'DC1_C0_H0', folder: '/DC1/vm' })
    await followed(stage, copy)
    await passed()
    await settles(t, node, 'proven')
    t.match(condition(reports.last(node.name), 'VMFound'), { status: 'True', reason: row.seen })
  },

  'shown first': async (t, row) => {
    const prepared = two()
    await vcsim.hide(prepared.vm.ref)
    const { node, copy } = await join(prepared)
    await reports201(t, node)
    await reports.until('it is taken for the copy', () => vmOf(node) === copy.ref)
    t.equal(reports.last(node.name)?.status?.identityLevel, 'reported')
    await followed(stage, copy)
    await vcsim.show(prepared.vm.ref)
    await followed(stage, prepared.vm)
    await show(stage, prepared.vm, claims.own(node))
    await reports.until('it is what it is', () => vmOf(node) === prepared.vm.ref)
    await reports.until('and proven', () => reports.last(node.name)?.status?.identityLevel === 'proven')
    await events.until('it is said', () =>
      eventsOf(events, node.name).some(({ reason }) => reason === row.seen),
    )
    t.match(reports.last(node.name)?.status?.formerVMs, [{ moref: copy.ref }])
    await checkTold(t, stage, { node, copy }, { reason: 'CopyFound' })
  },
})
