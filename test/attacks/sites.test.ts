import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import type { VcsimVM } from '../servers/control.ts'
import { startVcsim, type Vcsim } from '../servers/vcsim.ts'
import { followed } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { condition, isInitialized, isShutDown } from '../world/objects.ts'
import { runTheme } from './refused.ts'
import type { AttackRow } from './rows/row.ts'
import { sites } from './rows/sites.ts'
import { type Forger, openAttackStage, truth } from './stage.ts'
import { booted, claims, copyOf, createMarker, type Holdings, holdings, show } from './tenant.ts'

const other = await startVcsim({ clusters: 2, vms: 12, seed: 'second', password: 'another' })
const stage = await openAttackStage(
  t,
  { vms: 12 },
  {
    otherVCenters: { second: other },
    topology: { onChange: 'relabel' },
    lifecycle: { absentFor: '3s', confirmations: 3, leaderAge: '1s' },
  },
)
t.teardown(() => other.stop())
const { cluster, nodes, reports, vcsim } = stage
const theirs = await other.vms()
const there = { ...stage, vcsim: other }
// Its VM is in the second vCenter, which answers to the end.
const herald = spare()
const passed = await createMarker(stage, { vm: herald, vcsim: other })
const victim = await stage.forger('worker-10')
await victim.proven()
let machine: Forger = victim
const copy = await copyOf(stage, victim.vm, { vm: spare(), vcsim: other })
await followed(stage, victim.vm)
await followed(there, copy)

function spare() {
  const vm = theirs.shift()
  if (vm === undefined) throw new Error('no VM is left in the second vCenter')
  return vm
}

const answers = (name: string, does: boolean) =>
  until(`vCenter ${name} ${does ? 'answers' : 'is away'}`, async () => {
    return (await metric(stage.running, `rollcall_vcenter_up{vcenter="${name}"}`)) === Number(does)
  })
/** News of this VM ends the poll that waits, and the next is refused. */
const lose = async (name: string, simulator: Vcsim, vm: VcsimVM) => {
  await followed({ vcsim: simulator }, vm)
  await simulator.fault({ operation: '*', kind: 'status', status: 503 })
  await simulator.endSessions()
  await simulator.tell(vm.ref, { name: 'config', op: 'assign' })
  await answers(name, false)
}
const regain = async (name: string, simulator: Vcsim) => {
  await simulator.clearFaults()
  await answers(name, true)
}

/** Tries this, after which the victim's Node is what it was. */
const attempt =
  (act: () => Promise<unknown>, change: Partial<Holdings> = {}) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    const before = await holdings(stage, victim.name)
    await act()
    await passed()
    await reports.until(`it says ${row.seen}`, () =>
      (['VMFound', 'VMUnique'] as const).some(
        (type) => condition(reports.last(victim.name), type)?.reason === row.seen,
      ),
    )
    t.same(await holdings(stage, victim.name), { ...before, ...change })
  }
const claim = (text: () => string) => attempt(() => show(there, copy, text()))

/** A machine that joins, of which the tenant has a copy in the second vCenter. */
async function joins(name: string): Promise<Forger> {
  const node = await stage.forger(name)
  await copyOf(stage, node.vm, { vm: spare(), vcsim: other })
  return node
}

const waits = async (t: Test, { seen }: AttackRow, node: Forger) => {
  await reports.until(
    `${node.name} waits`,
    () => condition(reports.last(node.name), 'VMFound')?.reason === seen,
  )
  await passed()
  t.match(condition(reports.last(node.name), 'Initialized'), { status: 'False', reason: seen })
  t.notOk(isInitialized(nodes.last(node.name)))
}
const settles = async (t: Test, node: Forger, level: string) => {
  await reports.until(
    `${node.name} is ${level}`,
    () => reports.last(node.name)?.status?.identityLevel === level,
  )
  t.match(reports.last(node.name)?.status?.vm, { vCenter: 'main', moref: node.vm.ref })
}
let early: Forger | undefined
let heedless: Awaited<ReturnType<typeof copyOf>> | undefined

await runTheme(t, sites, {
  'made-up claim': claim(() => claims.madeUp(victim)),
  'own claim': claim(() => claims.own(victim)),
  'instance UUID': attempt(() => other.setState({ vm: copy.ref, instanceUuid: victim.vm.instanceUuid })),
  'victim off': async (t, row) => {
    await attempt(
      async () => {
        await vcsim.setState({ vm: victim.vm.ref, powerState: 'poweredOff' })
        await nodes.until('it is shut down', () => isShutDown(nodes.last(victim.name)))
      },
      { shutDown: true },
    )(t, row)
    await vcsim.setState({ vm: victim.vm.ref, powerState: 'poweredOn' })
    await nodes.until('it runs', () => !isShutDown(nodes.last(victim.name)))
  },
  'own VM off': async (t, row) => {
    await attempt(() => other.setState({ vm: copy.ref, powerState: 'poweredOff' }))(t, row)
    await other.setState({ vm: copy.ref, powerState: 'poweredOn' })
    await reports.until('it is a copy again', () => {
      return condition(reports.last(victim.name), 'VMUnique')?.status === 'False'
    })
  },

  'away: own claim': attempt(() => lose('main', vcsim, victim.vm)),
  'away: made-up claim': claim(() => claims.madeUp(victim)),
  'away: new boot': attempt(async () => {
    machine = booted(victim)
    t.match(await machine.report(truth(machine)), { status: 200 })
    await show(there, copy, claims.madeUp(machine))
  }),
  'away: guessed nonce': claim(() => claims.guessed(machine)),
  'away: leader': attempt(async () => {
    await stage.newLeader({ until: 'answering' })
    await answers('main', false)
    await passed()
    await followed(there, copy)
  }),
  'away: own VM off': attempt(() => other.setState({ vm: copy.ref, powerState: 'poweredOff' })),
  'joins: away': async (t, row) => {
    early = await joins('early')
    t.match(await early.report(truth(early)), { status: 201 })
    await waits(t, row, early)
  },
  'joins: away, made-up claim': async (t, row) => {
    const late = await joins('late')
    t.match(await late.report(truth(late)), { status: 201 })
    await waits(t, row, late)
  },
  'away: own VM destroyed': async (t, row) => {
    await loseHeartbeats(cluster, victim.name)
    await attempt(() => other.destroy(copy.ref))(t, row)
    await regain('main', vcsim)
    await show(stage, victim.vm, claims.own(machine))
    for (const node of early === undefined ? [] : [early]) {
      await show(stage, node.vm, claims.own(node))
      await settles(t, node, 'proven')
    }
    await settles(t, victim, 'proven')
  },
  'joins: own vCenter away': async (t, row) => {
    await lose('second', other, herald)
    const node = await stage.forger('no-claim')
    t.match(await node.report(truth(node)), { status: 201 })
    await reports.until('it waits', () => condition(reports.last(node.name), 'VMFound')?.reason === row.seen)
    early = node
  },
  'joins: claim': async (t, row) => {
    const node = await stage.forger('claims')
    await node.proven()
    await settles(t, node, 'proven')
    t.match(condition(reports.last(node.name), 'IdentityVerified'), { reason: row.seen })
    t.notOk(early !== undefined && isInitialized(nodes.last(early.name)))
    await regain('second', other)
    if (early !== undefined) await settles(t, early, 'reported')
  },

  'heedless: copy': async (t, row) => {
    await stage.newLeader({ requireAllVCenters: false })
    await settles(t, victim, 'proven')
    await attempt(async () => {
      heedless = await copyOf(stage, victim.vm, { vm: spare(), vcsim: other })
      await followed(there, heedless)
      await reports.until(
        'the copy is found',
        () => condition(reports.last(victim.name), 'VMUnique')?.reason === row.seen,
      )
      await lose('main', vcsim, victim.vm)
    })(t, row)
  },
  'heedless: made-up claim': attempt(async () => {
    if (heedless !== undefined) await show(there, heedless, claims.madeUp(machine))
  }),
  'heedless: joins': async (t, row) => {
    const node = await joins('heedless')
    t.match(await node.report(truth(node)), { status: 201 })
    await nodes.until('it is initialized', () => isInitialized(nodes.last(node.name)))
    await reports.until('it is said', () => reports.last(node.name)?.status?.identityLevel === 'reported')
    t.match(reports.last(node.name)?.status, { vm: { vCenter: 'second' } })
    await regain('main', vcsim)
    await show(stage, node.vm, claims.own(node))
    await settles(t, node, 'proven')
    t.match(condition(reports.last(node.name), 'IdentityVerified'), { reason: row.seen })
  },
})
