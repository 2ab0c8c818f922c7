/** A vSphere CSI driver that registers with the labels that we write, and says another zone than vCenter. */
import t from 'tap'
import { registerDriver, unregisterDriver } from '../world/csi-driver.ts'
import { settled } from '../world/deletion.ts'
import type { Member } from '../world/member.ts'
import { condition, eventsOf } from '../world/objects.ts'
import { builtProgram, startProgram } from '../world/program.ts'
import { openStage } from '../world/stage.ts'

const ZONE = 'topology.kubernetes.io/zone'
const BETA = 'failure-domain.beta.kubernetes.io/zone'
const REGION = 'topology.kubernetes.io/region'
const ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/rollcall-controller'

const stage = await openStage(t, { hosts: 1, vms: 12 })
const { cluster, nodes, reports, events, vcsim } = stage
const inFirst = stage.vms.filter((vm) => vm.cluster === 'DC0_C0')
stage.vms.splice(0, stage.vms.length, ...inFirst)

const label = ({ name }: Member, key: string) => nodes.last(name)?.metadata.labels[key]
const topology = ({ name }: Member) => condition(reports.last(name), 'TopologyResolved')
const says = (segments: Readonly<Record<string, string>>) => ({
  nodeId: 'node-id',
  accessibleTopology: { segments },
})

const setLabels = ({ name }: Member, labels: Readonly<Record<string, string | null>>) =>
  stage.patch(name, { metadata: { labels } })

async function told(...args: string[]): Promise<string> {
  const program = startProgram({ command: await builtProgram('rollcall-controller'), args })
  await program.ended
  return program.output()
}

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
    `label ${BETA} stays zone-x, and vCenter says zone-a: the vSphere CSI driver has registered with ${BETA};`,
  )
  await events.until('an Event says so', () =>
    eventsOf(events, one.name).some(({ reason }) => reason === 'LabelsKeptForCSI'),
  )
  await registerDriver(cluster, one, says({ [BETA]: 'zone-x' }))

  await setLabels(one, { [BETA]: null })
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
  const members = [await stage.member('with-driver'), await stage.member('without-driver')] as const
  const [kept, other] = members
  for (const member of members) await member.reportOnce()
  await settled(stage, kept.name, other.name)
  await registerDriver(cluster, kept, says({ [ZONE]: 'zone-a' }))
  await vcsim.move({ vm: kept.vm.ref, host: 'DC0_C1_H0' })
  // The watch of CSINodes may come after that of Nodes; until it has, the driver "may have" registered.
  const whole = `label ${ZONE} stays zone-a, label ${BETA} stays zone-a, and vCenter says zone-b: the vSphere CSI driver has registered with ${ZONE};`
  await reports.until('it is told', () => topology(kept)?.message.includes(whole) === true)
  t.equal(topology(kept)?.reason, 'LabelsKeptForCSI')
  const files = [`--config=${controller.configFile}`, `--kubeconfig=${controller.kubeconfig}`]
  t.match(await told('plan', ...files), `! LabelsKeptForCSI: label ${ZONE} stays zone-a`)

  await unregisterDriver(cluster, kept)
  await vcsim.move({ vm: other.vm.ref, host: 'DC0_C1_H0' })
  await nodes.until('the other one has followed since', () => label(other, ZONE) === 'zone-b')
  t.same([label(kept, ZONE), label(kept, BETA)], ['zone-a', 'zone-a'])
  await controller.stop()
  const next = await stage.controller({ topology: { onChange: 'relabel' } })
  await vcsim.move({ vm: other.vm.ref, host: 'DC0_C0_H0' })
  await nodes.until('the other one has followed the next leader', () => label(other, ZONE) === 'zone-a')
  t.same([label(kept, ZONE), label(kept, BETA)], ['zone-a', 'zone-a'])
  t.match(await told('explain', kept.name, ...files), /no +topology +LabelsKeptForCSI: label .* stays zone-a/)
  await registerDriver(cluster, kept, says({ [ZONE]: 'zone-a' }))

  await setLabels(kept, { [ZONE]: null, [BETA]: null })
  await nodes.until(
    'the labels are vCenter’s',
    () => label(kept, ZONE) === 'zone-b' && label(kept, BETA) === 'zone-b',
  )
  await reports.until('it is over', () => topology(kept)?.reason === 'Resolved')
  await next.stop()
})

t.test('a controller that may not read CSINodes goes on, and leaves what may be the driver’s', async (t) => {
  const { body: role } = await cluster.request<{ rules: { resources: string[] }[] }>('GET', ROLE)
  const rules = role.rules.filter(({ resources }) => !resources.includes('csinodes'))
  t.not(rules.length, role.rules.length)
  const contentType = 'application/merge-patch+json'
  const { status } = await cluster.request('PATCH', ROLE, { rules }, { contentType })
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
    message: /may have registered with .*, although no CSINode says so/,
  })
  t.equal(label(free, ZONE), 'zone-a')
  const ready = await fetch(`${controller.url}/readyz`)
  t.match(await ready.text(), /CSINodes cannot be read/)
})
