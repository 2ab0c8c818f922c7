import t, { type Test } from 'tap'
import { ANNOTATION_VM } from '../../controller/types/node.ts'
import { address, condition, eventsOf, isInitialized, type NodeObject } from '../world/objects.ts'
import { checkRefused, runTheme } from './refused.ts'
import { ownNode } from './rows/own-node.ts'
import type { AttackRow } from './rows/row.ts'
import type { AttackRequest } from './sender.ts'
import { openAttackStage, truth } from './stage.ts'

const RACK = 'rollcall.node-restriction.kubernetes.io/rack'
const OTHER = 'example.com/rack'
const labelRules = [RACK, OTHER].map((label) => ({ label, from: { tagCategory: 'rack' } }))
const stage = await openAttackStage(t, { vms: 12 }, { labelRules })
await stage.vcsim.tag({ category: 'rack', tag: 'r1', object: 'DC0' })
const { cluster, nodes, events } = stage
const victim = await stage.victim('worker-10')
const forger = await stage.forger('worker-1')
await forger.proven()

const zone = 'topology.kubernetes.io/zone'
const betaZone = 'failure-domain.beta.kubernetes.io/zone'
const VERIFIED = [
  zone,
  betaZone,
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
]
const LEVEL = 'rollcall.node-restriction.kubernetes.io/identity-level'
const path = '/api/v1/nodes/worker-1'

async function node(name = 'worker-1'): Promise<NodeObject> {
  return (await cluster.request<NodeObject>('GET', `/api/v1/nodes/${name}`)).body
}

async function verified(): Promise<object> {
  const { metadata, spec } = await node()
  return { providerID: spec.providerID, labels: [...VERIFIED, LEVEL].map((label) => metadata.labels[label]) }
}
const theirs = `/api/v1/nodes/${victim.name}`
const { labels } = (await node()).metadata
const honest = await verified()
const before = Object.fromEntries(VERIFIED.map((name) => [name, labels[name]]))

const merge = (body: object, to = path): AttackRequest => {
  return { method: 'PATCH', path: to, body, contentType: 'application/strategic-merge-patch+json' }
}
const label = (labels: object, to = path) => merge({ metadata: { labels } }, to)
const itsVM = { [ANNOTATION_VM]: victim.vm.instanceUuid }
const named = (to: string) => merge({ metadata: { annotations: itsVM } }, to)

const refused =
  (...attempts: AttackRequest[]) =>
  async (t: Test, row: AttackRow) => {
    for (const attempt of attempts) checkRefused(t, row, await forger.kubelet.send(attempt))
    t.same(await verified(), honest)
  }

await runTheme(
  t,
  ownNode,
  {
    labels: async (t) => {
      const others = label(Object.fromEntries(VERIFIED.map((name) => [name, 'other'])), `${path}/status`)
      t.match(await forger.kubelet.send(others), { status: 200, body: { metadata: { labels: before } } })
      t.same(await verified(), honest)
    },
    'at registration': async (t, row) => {
      const late = await stage.forger('brings-labels', { kubelet: { labels: { [zone]: 'other' } } })
      const { name } = late
      await late.report(truth(late))
      await events.until('it is said', () => eventsOf(events, name).some(({ reason }) => reason === row.seen))
      t.match((await node(name)).metadata.labels, { [zone]: /^zone-[ab]$/, [betaZone]: /^zone-[ab]$/ })
    },
    'provider ID': refused(merge({ spec: { providerID: `vsphere://${victim.vm.uuid}` } })),
    taint: async (t, row) => {
      const { kubelet, name } = await stage.forger('impatient')
      checkRefused(t, row, await kubelet.send(merge({ spec: { taints: null } }, `/api/v1/nodes/${name}`)))
      t.notOk(isInitialized(await node(name)))
    },
    addresses: async (t) => {
      const addresses = [{ type: 'InternalIP', address: victim.address }]
      const answer = await forger.kubelet.send(merge({ status: { addresses } }, `${path}/status`))
      t.match(answer, { status: 200 })
      const internal = (node: NodeObject | undefined) => address(node, 'InternalIP')
      await nodes.until(
        'its own address is back',
        () =>
          nodes.of('worker-1').some(({ object }) => internal(object) === victim.address) &&
          internal(nodes.last('worker-1')) === forger.address,
      )
    },
    'node IP': async (t, row) => {
      const other = await stage.forger('brings-node-ip', { kubelet: { nodeIP: victim.address } })
      await other.report(truth(other))
      t.match(condition(await other.judged(), 'AddressesResolved'), { status: 'False', reason: row.seen })
      t.notOk(isInitialized(await node(other.name)))
    },
    'system UUID': async (t, row) => {
      const other = await stage.forger('pretender', { kubelet: { biosUUID: victim.vm.uuid } })
      await other.proven()
      const { status } = await other.judged()
      t.match(status?.vm, { moref: other.vm.ref, biosUUID: other.vm.uuid })
      t.match(condition(await other.judged(), 'IdentityVerified'), { reason: row.seen })
    },
    'another Node': refused(
      label({ [zone]: 'other' }, theirs),
      label({ [zone]: 'other' }, `${theirs}/status`),
      merge({ spec: { providerID: `vsphere://${forger.vm.uuid}` } }, theirs),
    ),
    'which VM it is': refused(named(path), named(`${path}/status`)),
    'which VM it is, at registration': async (t, row) => {
      const other = await stage.forger('brings-vm', { kubelet: { annotations: itsVM } })
      await other.proven()
      const { status } = await other.judged()
      t.match(status?.vm, { moref: other.vm.ref })
      t.match(condition(await other.judged(), 'IdentityVerified'), { reason: row.seen })
    },
    'a label by rule': async (t, row) => {
      t.match((await node()).metadata.labels, { [RACK]: 'r1', [OTHER]: 'r1' })
      for (const value of ['r2', null])
        for (const to of [path, `${path}/status`])
          checkRefused(t, row, await forger.kubelet.send(label({ [RACK]: value }, to)))
      t.match((await node()).metadata.labels, { [RACK]: 'r1' })
    },
    'a label by rule, at registration': async (t, row) => {
      const annotations = { 'rollcall.dev/labels': `${OTHER}=mine,${RACK}=r1` }
      const other = await stage.forger('brings-a-label', {
        kubelet: { labels: { [OTHER]: 'mine' }, annotations },
      })
      await other.proven()
      t.match(condition(await other.judged(), 'LabelsResolved'), { status: 'False', reason: row.seen })
      t.match((await node(other.name)).metadata, {
        labels: { [RACK]: 'r1', [OTHER]: 'mine' },
        annotations: { 'rollcall.dev/labels': `${RACK}=r1` },
      })
    },
    'which labels are ours': refused(
      ...[path, `${path}/status`].map((to) =>
        merge({ metadata: { annotations: { 'rollcall.dev/labels': `${OTHER}=mine` } } }, to),
      ),
    ),
    'a tag that is another label': async (t, row) => {
      const { vm } = forger
      await stage.vcsim.tag({ category: 'rack', tag: 'r2,node-role.kubernetes.io/admin=r2', object: vm.host })
      await stage.newLeader({ labelRules })
      await stage.reports.until(
        'it is said',
        () => condition(stage.reports.last(forger.name), 'LabelsResolved')?.reason === row.seen,
      )
      const { metadata } = await node()
      t.match(metadata.labels, { [RACK]: 'r1', [OTHER]: 'r1' })
      t.notMatch(metadata.labels, { 'node-role.kubernetes.io/admin': String })
    },
    'which VM another is': refused(named(theirs), named(`${theirs}/status`)),
    'which VM it is, by its agent': async (t, row) => {
      for (const to of [path, `${path}/status`, theirs])
        checkRefused(t, row, await forger.agentPod.send(named(to)))
    },
    deletion: refused({ method: 'DELETE', path: theirs }, { method: 'DELETE', path }),
  },
  victim,
)
