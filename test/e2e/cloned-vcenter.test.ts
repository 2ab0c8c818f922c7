// A cloned appliance: two vCenters in the configuration say that they are one, with the same VMs under the same references.

import t from 'tap'
import { until } from '../fixtures/until.ts'
import { followed } from '../world/deletion.ts'
import { isInitialized, type NodeObject } from '../world/objects.ts'
import { runProgram } from '../world/program.ts'
import { openStage } from '../world/stage.ts'

const SHUTDOWN = 'node.cloudprovider.kubernetes.io/shutdown'
const stage = await openStage(t, { vms: 4 })
const { nodes, vcsim } = stage
const clone = await stage.vCenter({ clusters: 2, vms: 4, password: 'another' })
const controller = await stage.controller({ otherVCenters: { clone } })
const member = await stage.initialized('worker-1')
const isTainted = (node: NodeObject | undefined) =>
  node?.spec.taints?.some(({ key }) => key === SHUTDOWN) === true

t.test('both are named, at the start and by /readyz, which stays ready', async (t) => {
  await until('it is logged', () => /report the same instance UUID/.test(controller.output()))
  t.match(controller.output(), /"vCenters":\["main","clone"\]/)
  t.match(await controller.readyz(), /^vCenters main, clone report the same instance UUID/m)
  t.ok(await controller.isReady())
})

t.test('doctor names them as well', async (t) => {
  const args = [`--config=${controller.configFile}`, `--kubeconfig=${stage.cluster.adminKubeconfig}`]
  t.match(
    (await runProgram('rollcall-controller', 'doctor', ...args)).output,
    /vCenters main, clone: identity .*report the same instance UUID/,
  )
})

t.test('off in the clone alone: the Node gets no taint, whether the real one answers or not', async (t) => {
  await clone.govc('vm.power', '-off', member.vm.name)
  t.match(await stage.says(member.name, 'VMFound', { reason: 'VCenterNotUnique' }), {
    status: 'Unknown',
    message: /do not agree on the power state of VM/,
  })
  await vcsim.fault({ operation: '*', kind: 'status', status: 503 })
  const other = await stage.reported('worker-2')
  await until('the real one is away', async () => /^vCenter main: /m.test(await controller.readyz()))
  // It waits, though the clone shows its VM.
  await stage.says(other.name, 'VMFound', { status: 'Unknown' })
  t.notOk(nodes.of(member.name).some(({ object }) => isTainted(object)))
  await vcsim.clearFaults()
  await nodes.until('both answer again', () => isInitialized(nodes.last(other.name)))
  t.notOk(nodes.of(member.name).some(({ object }) => isTainted(object)))
})

t.test('off in both: the taint comes, whatever is said of a copy that one of them has', async () => {
  const [copy] = stage.vms.splice(0, 1)
  if (copy === undefined) throw new Error('no VM is left')
  await vcsim.govc('vm.power', '-off', copy.name)
  await vcsim.govc('vm.change', '-dc', copy.datacenter, '-vm', copy.name, '-uuid', member.vm.uuid)
  await followed(stage, copy)
  await vcsim.govc('vm.power', '-off', member.vm.name)
  await nodes.until('it is tainted', () => isTainted(nodes.last(member.name)))
})
