import t, { type Test } from 'tap'
import { printable } from '../../agent/shared/printable.ts'
import type { VcsimVM } from '../servers/control.ts'
import { followed } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { condition, eventsOf, isShutDown } from '../world/objects.ts'
import { runTheme } from './refused.ts'
import { copies } from './rows/copies.ts'
import type { AttackRow } from './rows/row.ts'
import { type Forger, openAttackStage, truth } from './stage.ts'
import {
  booted,
  checkTold,
  claims,
  copyOf,
  counted,
  createMarker,
  elsewhere,
  type Holdings,
  holdings,
  isUnique,
  type Pair,
  show,
} from './tenant.ts'

const stage = await openAttackStage(
  t,
  { vms: 40 },
  { topology: { onChange: 'relabel' }, lifecycle: { absentFor: '3s', confirmations: 3, leaderAge: '1s' } },
)
const { cluster, nodes, reports, events, vcsim } = stage
const passed = await createMarker(stage)

/** A Node whose machine shows its claim, or cannot. */
async function verified(name: string, { claim = true } = {}): Promise<Forger> {
  const node = await stage.forger(name)
  if (claim) await node.proven()
  else await node.reported()
  await followed(stage, node.vm)
  return node
}

const weak = await verified('weak', { claim: false })
const weakUUID: Pair = { node: weak, copy: elsewhere(stage, weak.vm) }
const weakMACs: Pair = { node: weak, copy: elsewhere(stage, weak.vm) }
const strong = await verified('worker-10')
const running: Pair = { node: strong, copy: elsewhere(stage, strong.vm) }
const sleeper = await verified('sleeper')
const asleep: Pair = { node: sleeper, copy: elsewhere(stage, sleeper.vm) }
/** The machine of `strong` after its latest boot. */
let machine: Forger = strong

const copy = ({ node, copy }: Pair, macs = true) => copyOf(stage, node.vm, { vm: copy, macs })
/** Shows a claim on the tenant's VM. */
const claim =
  ({ copy }: Pair, text: () => string) =>
  () =>
    show(stage, copy, text())
const state = (vm: VcsimVM, change: Omit<Parameters<typeof vcsim.setState>[0], 'vm'>) =>
  vcsim.setState({ vm: vm.ref, ...change })
const shutDown = ({ name }: Forger, is: boolean) =>
  nodes.until(`${name} ${is ? 'is' : 'is not'} shut down`, () => isShutDown(nodes.last(name)) === is)

/** Tries this, after which the victim's Node is what it was but for what happened to its own VM, and the copy is told. */
const attempt =
  (pair: Pair, act: () => Promise<unknown>, change: Partial<Holdings> = {}) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    const before = await holdings(stage, pair.node.name)
    await act()
    await passed()
    await checkTold(t, stage, pair, { reason: row.seen })
    t.same(await holdings(stage, pair.node.name), { ...before, ...change })
  }

/** The same for what makes the tenant's VM no rival; it is one again at the end. */
const harmless =
  (pair: Pair, act: () => Promise<unknown>, undo: () => Promise<unknown>) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    const before = await holdings(stage, pair.node.name)
    await act()
    await reports.until('there is no copy', () => isUnique(stage, pair.node.name))
    await passed()
    t.same(await holdings(stage, pair.node.name), before)
    t.match(condition(reports.last(pair.node.name), 'VMFound'), { status: 'True', reason: row.seen })
    await undo()
    await checkTold(t, stage, pair, { reason: 'CopyFound' })
    t.same(await holdings(stage, pair.node.name), before)
  }

const boot = async (): Promise<void> => {
  machine = booted(machine)
  await show(stage, machine.vm, '')
  t.match(await machine.report(truth(machine)), { status: 200 })
  await machine.judged()
}

await runTheme(t, copies, {
  'reported: UUID': attempt(weakUUID, () => copy(weakUUID, false)),
  'reported: MACs': attempt(weakMACs, async () => {
    await copy(weakMACs)
    await followed(stage, weakMACs.copy)
  }),
  'reported: made-up claim': attempt(
    weakMACs,
    claim(weakMACs, () => claims.madeUp(weak)),
  ),
  'reported: guessed nonce': attempt(
    weakMACs,
    claim(weakMACs, () => claims.guessed(weak)),
  ),
  'reported: garbage': attempt(
    weakMACs,
    claim(weakMACs, () => 'x'.repeat(60_000)),
  ),
  'reported: off and on': attempt(weakMACs, async () => {
    await state(weakMACs.copy, { powerState: 'poweredOff' })
    await state(weakMACs.copy, { powerState: 'poweredOn' })
  }),

  'proven: made-up claim': attempt(running, async () => {
    await copy(running)
    await followed(stage, running.copy)
    await show(stage, running.copy, claims.madeUp(strong))
  }),
  'proven: guessed nonce': attempt(
    running,
    claim(running, () => claims.guessed(strong)),
  ),
  'proven: own claim': async (t, row) => {
    await attempt(
      running,
      claim(running, () => claims.own(strong)),
    )(t, row)
    t.match(condition(reports.last(strong.name), 'VMUnique')?.message, /the MAC addresses and the claim of/)
  },
  'proven: instance UUID': async (t, row) => {
    await attempt(running, () => state(running.copy, { instanceUuid: strong.vm.instanceUuid }))(t, row)
    await state(running.copy, { instanceUuid: running.copy.instanceUuid })
  },
  'proven: to and fro': async (t, row) => {
    const versions = reports.of(strong.name).length
    await attempt(running, async () => {
      for (let turn = 0; turn < 40; turn += 1)
        await state(running.copy, { uuid: turn % 2 === 0 ? running.copy.uuid : strong.vm.uuid })
    })(t, row)
    const more = reports.of(strong.name).length - versions
    t.ok(more < 20, `${more} versions of the report`)
  },
  'proven: bigger': attempt(running, () =>
    state(running.copy, { cpus: 96, memoryMB: 1_000_000, guestId: 'windows2022srvNext_64Guest' }),
  ),
  'proven: moves': attempt(running, () =>
    vcsim.move({ vm: running.copy.ref, host: `${strong.vm.cluster}_H0` }),
  ),
  'proven: vMotion': attempt(running, () =>
    vcsim.move({ vm: strong.vm.ref, host: `${strong.vm.cluster}_H2` }),
  ),
  'proven: renamed': async (t, row) => {
    const odd: Pair = { node: strong, copy: elsewhere(stage, strong.vm) }
    await vcsim.govc('object.rename', `VirtualMachine:${odd.copy.ref}`, 'worker\u202e\u009b\u2028\n10')
    await attempt(odd, () => state(odd.copy, { uuid: strong.vm.uuid }))(t, row)
    const said = [condition(reports.last(strong.name), 'VMUnique'), ...eventsOf(events, strong.name)]
    t.match(JSON.stringify(said), /worker.*10/, 'its name is in it')
    for (const message of said.map((each) => each?.message ?? ''))
      t.equal(message, printable(message, message.length), 'all that is said is printable')
    await vcsim.destroy(odd.copy.ref)
  },
  'proven: unregistered': async (t, row) => {
    const before = await holdings(stage, strong.name)
    await vcsim.unregister(running.copy.ref)
    await reports.until('it is forgotten', () => isUnique(stage, strong.name))
    Object.assign(running.copy, { ref: (await vcsim.register(running.copy.ref)).ref })
    await checkTold(t, stage, running, { reason: row.seen })
    await followed(stage, running.copy)
    t.same(await holdings(stage, strong.name), before)
  },

  'boot: made-up claim': attempt(running, async () => {
    await boot()
    await show(stage, running.copy, claims.madeUp(machine))
  }),
  'boot: guessed nonce': attempt(
    running,
    claim(running, () => claims.guessed(machine)),
  ),
  'boot: earlier claim': attempt(
    running,
    claim(running, () => claims.own(strong)),
  ),
  'boot: new claim first': attempt(
    running,
    claim(running, () => claims.own(machine)),
  ),
  'boot: new claim too': async (t, row) => {
    await attempt(running, () => show(stage, strong.vm, claims.own(machine)))(t, row)
    t.match(condition(reports.last(strong.name), 'IdentityVerified'), { reason: 'Proven' })
  },
  'boot: late report': async (t, row) => {
    const next = booted(machine)
    await attempt(running, async () => {
      for (const vm of [running.copy, strong.vm]) await show(stage, vm, claims.own(next))
    })(t, row)
    machine = next
    await attempt(running, async () => {
      t.match(await machine.report(truth(machine)), { status: 200 })
      await machine.judged()
    })(t, row)
    t.match(condition(reports.last(strong.name), 'IdentityVerified'), { reason: 'Proven' })
  },

  'off: runs': attempt(
    asleep,
    async () => {
      await copy(asleep)
      await followed(stage, asleep.copy)
      await state(sleeper.vm, { powerState: 'poweredOff' })
      await shutDown(sleeper, true)
    },
    { shutDown: true },
  ),
  'off: made-up claim': attempt(
    asleep,
    claim(asleep, () => claims.madeUp(sleeper)),
  ),
  'off: guessed nonce': attempt(
    asleep,
    claim(asleep, () => claims.guessed(sleeper)),
  ),
  'off: own claim': attempt(
    asleep,
    claim(asleep, () => claims.own(sleeper)),
  ),
  'off: instance UUID': async (t, row) => {
    await attempt(asleep, async () => {
      await state(asleep.copy, { instanceUuid: sleeper.vm.instanceUuid })
      await stage.newLeader()
    })(t, row)
    await state(asleep.copy, { instanceUuid: asleep.copy.instanceUuid })
  },
  'off: leader': attempt(asleep, () => stage.newLeader()),
  'back on': attempt(
    asleep,
    async () => {
      await followed(stage, sleeper.vm, asleep.copy)
      await state(sleeper.vm, { powerState: 'poweredOn' })
      await shutDown(sleeper, false)
    },
    { shutDown: false },
  ),
  'suspended: own claim': attempt(
    asleep,
    async () => {
      await state(sleeper.vm, { powerState: 'suspended' })
      await shutDown(sleeper, true)
    },
    { shutDown: true },
  ),
  'disconnected: own claim': attempt(asleep, () => state(sleeper.vm, { connectionState: 'disconnected' })),
  'disconnected: made-up claim': attempt(
    asleep,
    claim(asleep, () => claims.madeUp(sleeper)),
  ),

  'own power': harmless(
    running,
    () => state(running.copy, { powerState: 'poweredOff' }),
    () => state(running.copy, { powerState: 'poweredOn' }),
  ),
  'own suspension': harmless(
    running,
    () => state(running.copy, { powerState: 'suspended' }),
    () => state(running.copy, { powerState: 'poweredOn' }),
  ),
  'own orphan': harmless(
    running,
    () => state(running.copy, { connectionState: 'orphaned' }),
    () => state(running.copy, { connectionState: 'connected' }),
  ),
  'own invalid': harmless(
    running,
    () => state(running.copy, { connectionState: 'invalid' }),
    () => state(running.copy, { connectionState: 'connected' }),
  ),
  'own template': harmless(
    running,
    async () => {
      await vcsim.govc('vm.power', '-off', running.copy.name)
      await vcsim.govc('vm.markastemplate', running.copy.name)
    },
    async () => {
      const pool = `/DC0/host/${running.copy.cluster}/Resources`
      await vcsim.govc('vm.markasvm', '-pool', pool, running.copy.name)
      await state(running.copy, { powerState: 'poweredOn' })
    },
  ),

  'running: leader': attempt(running, () => stage.newLeader()),
  'many copies': attempt(running, async () => {
    for (let i = 0; i < 12; i += 1) {
      const { ref } = await vcsim.create({ name: `twin-${i}`, like: running.copy.ref })
      await vcsim.setState({ vm: ref, uuid: strong.vm.uuid })
      await counted(stage.running, `main/${strong.vm.ref}`, `main/${ref}`)
    }
  }),
  'another victim': async (t, row) => {
    await attempt({ node: sleeper, copy: running.copy }, () =>
      copyOf(stage, sleeper.vm, { vm: running.copy }),
    )(t, row)
  },
  destroyed: async (t, row) => {
    const before = await holdings(stage, weak.name)
    await loseHeartbeats(cluster, weak.name)
    for (const { copy } of [weakUUID, weakMACs]) await vcsim.destroy(copy.ref)
    await reports.until('there is no copy', () => isUnique(stage, weak.name))
    const other = await verified('gone')
    await loseHeartbeats(cluster, other.name)
    await vcsim.destroy(other.vm.ref)
    await nodes.until('a Node whose VM is gone goes', () => nodes.last(other.name) === undefined)
    t.same(await holdings(stage, weak.name), before)
    t.match(condition(reports.last(weak.name), 'VMFound'), { status: 'True', reason: row.seen })
  },
})
