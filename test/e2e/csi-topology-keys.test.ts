/** A vSphere CSI driver that registers with the labels that we write, and says another zone than vCenter. */
import t from 'tap'
import { registerDriver, unregisterDriver } from '../world/csi-driver.ts'
import { settled, verified } from '../world/deletion.ts'
import type { Member } from '../world/member.ts'
import { condition } from '../world/objects.ts'
import { runProgram } from '../world/program.ts'
import { openStage } from '../world/stage.ts'

const ZONE = 'topology.kubernetes.io/zone'
const BETA = 'failure-domain.beta.kubernetes.io/zone'
const REGION = 'topology.kubernetes.io/region'

const stage = await openStage(t, { hosts: 1, vms: 12 })
const { cluster, nodes, reports, vcsim } = stage
stage.keepVMs((vm) => vm.cluster === 'DC0_C0')

const label = ({ name }: Member, key: string) => nodes.last(name)?.metadata.labels[key]
const topology = ({ name }: Member) => condition(reports.last(name), 'TopologyResolved')
const says = (segments: Record<string, string>) => ({ nodeId: 'node-id', accessibleTopology: { segments } })

t.test('a new Node keeps the zone that the driver registered with, until that is deleted', async (t) => {
  const one = await stage.member('registered-before')
  await registerDriver(cluster, one, says({ [BETA]: 'zone-x' }))
  const first = await stage.controller()
  await one.reportOnce()
  await settled(stage, one.name)
  t.same([label(one, BETA), label(one, ZONE), label(one, REGION)], ['zone-x', undefined, 'region-1'])
  t.match(topology(one), { status: 'False', reason: 'LabelsKeptForCSI' })
  t.match(
    topology(one)?.message,
    `label ${BETA} remains zone-x although vCenter reports zone-a, because the vSphere CSI driver registered with ${BETA};`,
  )
  await stage.told(one.name, 'LabelsKeptForCSI')
  await registerDriver(cluster, one, says({ [BETA]: 'zone-x' }))

  await stage.patch(one.name, { metadata: { labels: { [BETA]: null } } })
  await nodes.until(
    'both labels are written',
    () => label(one, BETA) === 'zone-a' && label(one, ZONE) === 'zone-a',
  )
  await reports.until('it is over', () => topology(one)?.reason === 'Resolved')
  await registerDriver(cluster, one, says({ [BETA]: 'zone-a' }))
  await first.stop()
})

t.test('relabel: labels of the driver do not follow, not while its pod is restarted either', async (t) => {
  const controller = await stage.controller({ topology: { onChange: 'relabel' } })
  const [kept, other] = await verified(stage, 'with-driver', 'without-driver')
  await registerDriver(cluster, kept, says({ [ZONE]: 'zone-a' }))
  await vcsim.move({ vm: kept.vm.ref, host: 'DC0_C1_H0' })
  // The watch of CSINodes may come after that of Nodes; until it has, the driver "may have" registered.
  const whole = `label ${ZONE} remains zone-a, label ${BETA} remains zone-a although vCenter reports zone-b, because the vSphere CSI driver registered with ${ZONE};`
  await reports.until('it is told', () => topology(kept)?.message.includes(whole) === true)
  t.equal(topology(kept)?.reason, 'LabelsKeptForCSI')
  const files = [`--config=${controller.configFile}`, `--kubeconfig=${controller.kubeconfig}`]
  t.match(
    (await runProgram('rollcall-controller', 'plan', ...files)).output,
    `! LabelsKeptForCSI: label ${ZONE} remains zone-a`,
  )

  await unregisterDriver(cluster, kept)
  await vcsim.move({ vm: other.vm.ref, host: 'DC0_C1_H0' })
  await nodes.until('the other one has followed since', () => label(other, ZONE) === 'zone-b')
  t.same([label(kept, ZONE), label(kept, BETA)], ['zone-a', 'zone-a'])
  await controller.stop()
  const next = await stage.controller({ topology: { onChange: 'relabel' } })
  await vcsim.move({ vm: other.vm.ref, host: 'DC0_C0_H0' })
  await nodes.until('the other one has followed the next leader', () => label(other, ZONE) === 'zone-a')
  t.same([label(kept, ZONE), label(kept, BETA)], ['zone-a', 'zone-a'])
  const explained = await runProgram('rollcall-controller', 'explain', kept.name, ...files)
  t.match(explained.output, /no +topology +LabelsKeptForCSI: label .* remains zone-a/)
  await registerDriver(cluster, kept, says({ [ZONE]: 'zone-a' }))

  await stage.patch(kept.name, { metadata: { labels: { [ZONE]: null, [BETA]: null } } })
  await nodes.until(
    'the labels are vCenter’s',
    () => label(kept, ZONE) === 'zone-b' && label(kept, BETA) === 'zone-b',
  )
  await reports.until('it is over', () => topology(kept)?.reason === 'Resolved')
  await next.stop()
})

t.test('a controller that may not read CSINodes goes on, and leaves what may be the driver’s', async (t) => {
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/rollcall-controller'
  const { body: role } = await cluster.request<{ rules: { resources: string[] }[] }>('GET', path)
  const rules = role.rules.filter(({ resources }) => !resources.includes('csinodes'))
  t.not(rules.length, role.rules.length)
  const contentType = 'application/merge-patch+json'
  const { status } = await cluster.request('PATCH', path, { rules }, { contentType })
  t.equal(status, 200)
  const one = await stage.member('unread')
  await registerDriver(cluster, one, says({ [ZONE]: 'zone-x' }))
  const free = await stage.member('unread-without-driver', { labels: { [ZONE]: 'zone-of-kubelet' } })
  const controller = await stage.controller()
  for (const member of [one, free]) await member.reportOnce()
  await settled(stage, one.name, free.name)
  t.same([label(one, ZONE), label(one, REGION)], ['zone-x', 'region-1'])
  t.match(topology(one), {
    reason: 'LabelsKeptForCSI',
    message: /may have registered with .* \(no CSINode currently says so\)/,
  })
  t.equal(label(free, ZONE), 'zone-a')
  t.match(await controller.readyz(), /CSINodes cannot be read/)
})
