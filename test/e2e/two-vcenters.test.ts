import { join } from 'node:path'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { writeRpctool } from '../servers/rpctool.ts'
import type { Vcsim } from '../servers/vcsim.ts'
import type { Controller } from '../world/controller.ts'
import type { Member } from '../world/member.ts'
import { condition, eventsOf, isInitialized, level } from '../world/objects.ts'
import { openStage, REGION_CATEGORY, ZONE_CATEGORY } from '../world/stage.ts'

// Two vCenters whose machines have the same references and names, one cluster, one controller.
const stage = await openStage(t, { vms: 8 })
const { nodes, reports, events } = stage
const other = await stage.vCenter({ clusters: 2, vms: 8, seed: 'second', password: 'another' })
await other.tag(
  { category: ZONE_CATEGORY, tag: 'zone-c', object: 'DC0_C0' },
  { category: ZONE_CATEGORY, tag: 'zone-d', object: 'DC0_C1' },
  { category: REGION_CATEGORY, tag: 'region-2', object: 'DC0' },
)
t.afterEach(async () => {
  await Promise.all([stage.vcsim.clearFaults(), other.clearFaults()])
})

type Name = 'main' | 'second'
const simulators: Record<Name, Vcsim> = { main: stage.vcsim, second: other }
const otherVMs = await other.vms()
const otherVCenters = { second: other }
const region: Record<Name, string> = { main: 'region-1', second: 'region-2' }

t.test('the Nodes of both are initialized by one controller, with a session in each', async (t) => {
  const controller = await stage.controller({ otherVCenters }, t)
  const members = await Promise.all(
    (['main', 'second'] as const).flatMap((vCenter) =>
      [0, 1].map(async (i) => ({ vCenter, member: await memberOf(vCenter, `${vCenter}-${i}`) })),
    ),
  )
  await Promise.all(members.map(({ member }) => member.reportOnce()))
  await nodes.until('all are initialized', () =>
    members.every(({ member }) => isInitialized(nodes.last(member.name))),
  )
  const instances = new Map<Name, Set<string>>([
    ['main', new Set()],
    ['second', new Set()],
  ])
  for (const { vCenter, member } of members) {
    await stage.says(member.name, 'Initialized', { status: 'True' })
    const node = nodes.last(member.name)
    t.equal(node?.spec.providerID, `vsphere://${member.vm.uuid}`)
    t.equal(level(node), 'proven')
    t.equal(node?.metadata.labels['topology.kubernetes.io/region'], region[vCenter])
    const vm = reports.last(member.name)?.status?.vm
    t.match(vm, { vCenter, moref: member.vm.ref, instanceUUID: member.vm.instanceUuid })
    instances.get(vCenter)?.add(vm?.vCenterInstanceUUID ?? '')
  }
  const uuids = [...instances.values()].flatMap((set) => [...set])
  t.equal(new Set(uuids).size, 2, 'each vCenter has one instance UUID of its own')
  t.equal(uuids.length, 2)
  // The machines of the two have the same references.
  t.equal(members[0]?.member.vm.ref, members[2]?.member.vm.ref)

  t.same(await vCentersUp(controller), [
    'rollcall_vcenter_up{vcenter="main"} 1',
    'rollcall_vcenter_up{vcenter="second"} 1',
  ])
  for (const vcsim of Object.values(simulators)) {
    t.match(await vcsim.sessions(), { soap: 1 })
    t.equal((await vcsim.calls()).operations.Login, 1)
  }
})

for (const [hanging, answering] of [
  ['second', 'main'],
  ['main', 'second'],
] as const) {
  t.test(
    `${hanging} takes connections and never answers: ${answering} is served at full speed`,
    async (t) => {
      const controller = await stage.controller({ otherVCenters }, t)
      const running = await memberOf(hanging, `${hanging}-running`)
      await running.reportOnce()
      await nodes.until('it is initialized', () => isInitialized(nodes.last(running.name)))
      await until(`${hanging} watches it`, async () => {
        const { operations } = await simulators[hanging].calls()
        return (operations.ModifyListView ?? 0) > 0
      })
      await stage.says(running.name, 'Initialized', { status: 'True' })
      const before = nodes.of(running.name).length

      await simulators[hanging].fault({ operation: '*', kind: 'hang' })
      const early = await memberOf(answering, `${answering}-early`)
      const lost = await memberOf(hanging, `${hanging}-lost`)
      await Promise.all([early.reportOnce(), lost.reportOnce()])
      await nodes.until('the first is initialized', () => isInitialized(nodes.last(early.name)))
      t.notOk(toldOfTimeout(lost), 'before anybody knows that the other hangs')

      await until(
        'it is told',
        async () => (await controller.readyz()).trim() === `vCenter ${hanging}: TimedOut`,
      )
      const late = await memberOf(answering, `${answering}-late`)
      await late.reportOnce()
      await nodes.until('the next is initialized', () => isInitialized(nodes.last(late.name)))
      t.comment(`${took(early).toFixed()} ms before, ${took(late).toFixed()} ms after it is known to hang`)

      await reports.until('its Node is told', () => toldOfTimeout(lost))
      t.notOk(isInitialized(nodes.last(lost.name)))
      t.same(
        (await vCentersUp(controller)).sort(),
        [
          `rollcall_vcenter_up{vcenter="${answering}"} 1`,
          `rollcall_vcenter_up{vcenter="${hanging}"} 0`,
        ].sort(),
      )
      t.equal(nodes.of(running.name).length, before, 'the Node that runs is left alone')

      await simulators[hanging].clearFaults()
      await nodes.until('the other is initialized', () => isInitialized(nodes.last(lost.name)))
      await until('it is ready', async () => (await controller.readyz()).startsWith('leading'))
      for (const vcsim of Object.values(simulators)) t.match(await vcsim.sessions(), { soap: 1 })
      for (const { name } of [early, late]) {
        const warnings = eventsOf(events, name).filter(({ type }) => type === 'Warning')
        t.same(warnings, [], `nobody warns of ${name}`)
      }
      t.equal(nodes.of(running.name).length, before)
    },
  )
}

t.test('one that hangs from the start: the other is served', async (t) => {
  await other.fault({ operation: '*', kind: 'hang' })
  const controller = await stage.controller({ otherVCenters, until: 'answering' }, t)
  const member = await memberOf('main', 'cold')
  await member.reportOnce()
  await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
  t.comment(`${took(member).toFixed()} ms`)
  t.match(await controller.readyz(), /^vCenter second: /)
})

/** A machine of this vCenter, whose guest uses it and no other. */
async function memberOf(vCenter: Name, name: string): Promise<Member> {
  if (vCenter === 'main') return stage.member(name)
  const vm = otherVMs.shift()
  if (vm === undefined) throw new Error('every virtual machine has a Node')
  const member = await stage.member(name, { vm, rpctool: null })
  await writeRpctool(join(member.root, 'usr/bin'), { vcsim: other, vm: vm.ref })
  return member
}

/** Milliseconds that a Node took, by the record of the API server. */
function took({ name }: Member): number {
  const reported = reports.of(name)[0]?.at ?? Number.NaN
  const initialized = nodes.of(name).find(({ object }) => isInitialized(object))?.at ?? Number.NaN
  return initialized - reported
}

async function vCentersUp(controller: Controller): Promise<string[]> {
  return (await controller.metrics()).split('\n').filter((line) => line.startsWith('rollcall_vcenter_up{'))
}

function toldOfTimeout({ name }: Member): boolean {
  return condition(reports.last(name), 'VMFound')?.reason === 'TimedOut'
}
