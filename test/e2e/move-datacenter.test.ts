import t from 'tap'
import { until } from '../fixtures/until.ts'
import { pushes, verified } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import type { Member } from '../world/member.ts'
import { metric } from '../world/meters.ts'
import { condition, isShutDown, level } from '../world/objects.ts'
import { openStage, REGION_CATEGORY } from '../world/stage.ts'

// So quick that whatever could be deleted on this ground would be, several times over.
const lifecycle = { absentFor: '1s', confirmations: 2, leaderAge: '0s', maxAbsentMinimum: 3 }
const stage = await openStage(t, { dcs: 2, vms: 8 })
const { cluster, nodes, reports, vcsim } = stage
// A datacenter nested in a folder, with a host of its own.
await vcsim.govc('folder.create', '/europe')
await vcsim.govc('datacenter.create', '-folder', '/europe', 'DC9')
await vcsim.govc('cluster.create', '-dc', 'DC9', 'DC9_C0')
const account = ['-username', 'root', '-password', 'secret', '-noverify', '-connect']
await vcsim.govc('cluster.add', '-dc', 'DC9', '-cluster', 'DC9_C0', '-hostname', 'DC9_C0_H0', ...account)

stage.keepVMs(({ datacenter }) => datacenter === 'DC0')
const labels = { zone: 'k8s-zonk', region: REGION_CATEGORY }
const controller = await stage.controller({ lifecycle, labels, datacenters: ['DC[0]', '/europe/DC8'] })
const [outside, nested, witness] = await verified(stage, 'outside', 'nested', 'witness')

const found = ({ name }: Member) => condition(reports.last(name), 'VMFound')

t.before(async () => {
  await pushes(stage)
  await loseHeartbeats(cluster, outside.name, nested.name, witness.name)
})

t.test('a datacenter that there is not is told at once, one with wildcards is found', async (t) => {
  await until('it is told', async () => (await controller.readyz()).includes('datacenters'))
  t.match(
    await controller.readyz(),
    /^leading\nvCenter main: 1 of 2 datacenters in the configuration match none/,
  )
  await until('so is the category', async () => (await controller.readyz()).includes('labels.zone'))
  t.match(
    await controller.readyz(),
    /\nvCenter main: labels\.zone names tag category "k8s-zonk", which vCenter does not show/,
  )
  await until('the log names it', () => controller.output().includes('"datacenters":["/europe/DC8"]'))
  t.match(controller.output(), '"seen":["/DC0","/DC1","/europe/DC9"]')
})

for (const { member, folder, host, path } of [
  { member: outside, folder: '/DC1/vm', host: 'DC1_C0_H0', path: '/DC1' },
  { member: nested, folder: '/europe/DC9/vm', host: 'DC9_C0_H0', path: '/europe/DC9' },
]) {
  t.test(`moved to datacenter ${path}, which is none of the configured ones`, async (t) => {
    const start = performance.now()
    await vcsim.move({ vm: member.vm.ref, folder, host })
    await reports.until('it says so', () => found(member)?.reason === 'DatacenterOutOfScope')
    t.comment(`said after ${Math.round(performance.now() - start)} ms`)
    t.match(found(member), {
      status: 'False',
      message: new RegExp(
        `${member.vm.name}.* is in datacenter ${path}, .* add it under datacenters, or move`,
      ),
    })
    await stage.told(member.name, 'DatacenterOutOfScope')
  })
}

t.test('a Node whose VM is gone goes meanwhile, and these stay as they are', async (t) => {
  await vcsim.hide(witness.vm.ref)
  await nodes.until('that one is deleted', () => nodes.of(witness.name).at(-1)?.type === 'DELETED')
  for (const member of [outside, nested]) {
    const node = nodes.last(member.name)
    t.equal(node?.metadata.uid, member.uid)
    t.equal(node?.metadata.labels['topology.kubernetes.io/region'], 'region-1')
    t.equal(level(node), 'proven')
    t.notOk(isShutDown(node))
    t.equal(reports.last(member.name)?.status?.vm?.moref, member.vm.ref)
    t.equal(condition(reports.last(member.name), 'DeletionPending'), undefined)
  }
  t.equal(await metric(controller, 'rollcall_vms_missing{vcenter="main"}'), 0)
})

t.test('moved back', async (t) => {
  for (const member of [outside, nested]) {
    await vcsim.move({ vm: member.vm.ref, folder: '/DC0/vm', host: member.vm.host })
    await reports.until('it is found', () => found(member)?.reason === 'VMFound')
    t.equal(nodes.last(member.name)?.metadata.uid, member.uid)
    t.equal(condition(reports.last(member.name), 'IdentityVerified')?.reason, 'Proven')
  }
})
