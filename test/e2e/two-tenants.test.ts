// One vCenter under two names, as the CPI's tenants: each with its datacenter, and an account that may read both.
import t from 'tap'
import { deleted, QUICK, settled, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { condition } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { dcs: 2, vms: 8 })
const { cluster, nodes, reports, vcsim } = stage
const login = `server: ${vcsim.host}, port: ${vcsim.port}, user: "${vcsim.username}", password: ${vcsim.password}, caFile: ${vcsim.certificateFile}`
const lifecycle = { ...QUICK, maxAbsentShare: '100%' }
const controller = await stage.controller({
  config: `vcenter:
  finance: {${login}, datacenters: [DC0]}
  hr: {${login}, datacenters: [DC1]}
labels: {zone: k8s-zone, region: k8s-region}
identity: {require: asserted}
lifecycle: ${JSON.stringify(lifecycle)}
`,
})

const boundBy = (name: string) => reports.last(name)?.status?.vm?.vCenter

t.test('each Node is initialized by the tenant whose datacenter has its VM', async (t) => {
  await nodeIn('DC0', 'finance-1')
  await nodeIn('DC1', 'hr-1')
  await nodeIn('DC1', 'hr-2', { agent: false })
  t.same(['finance-1', 'hr-1', 'hr-2'].map(boundBy), ['finance', 'hr', 'hr'])
  t.match(await vcsim.sessions(), { soap: 2 }, 'one session for each')
  for (const { object } of reports.of('hr-1'))
    t.notOk(['AmbiguousUUID', 'DatacenterOutOfScope'].includes(condition(object, 'VMFound')?.reason ?? ''))
  t.notMatch(controller.output(), /names the same server/)
})

t.test('a Node whose VM is destroyed is deleted, and the others stay', async (t) => {
  const gone = await nodeIn('DC1', 'hr-3')
  await watched(stage)
  await loseHeartbeats(cluster, gone.name)
  await vcsim.govc('vm.destroy', `/DC1/vm/${gone.vm.name}`)
  await deleted(stage, gone.name)
  for (const name of ['finance-1', 'hr-1', 'hr-2']) t.ok(nodes.last(name), name)
})

t.test("a VM that moves to the other tenant's datacenter goes over to it", async (t) => {
  const { name, vm } = await nodeIn('DC0', 'finance-2')
  const before = nodes.last(name)
  await loseHeartbeats(cluster, name)
  await vcsim.move({ vm: vm.ref, folder: '/DC1/vm', host: 'DC1_C0_H0' })
  await reports.until('it is bound by the other one', () => boundBy(name) === 'hr')
  t.equal(condition(reports.last(name), 'VMFound')?.status, 'True')
  t.equal(nodes.last(name)?.metadata.uid, before?.metadata.uid)
  t.equal(nodes.last(name)?.spec.providerID, before?.spec.providerID)
})

/** A Node for a VM of this datacenter; without an agent nothing tells copies apart. */
async function nodeIn(datacenter: string, name: string, { agent = true } = {}) {
  const index = stage.vms.findIndex((each) => each.datacenter === datacenter)
  const [vm] = stage.vms.splice(index, 1)
  if (vm === undefined) throw new Error('every virtual machine has a Node')
  const member = await stage.member(name, { vm })
  if (agent) await member.reportOnce()
  else await vcsim.setGuest({ vm: vm.ref, hostName: name, nics: [{ addresses: [`${member.address}/24`] }] })
  await settled(stage, name)
  return member
}
