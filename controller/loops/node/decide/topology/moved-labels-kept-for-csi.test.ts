import t from 'tap'
import {
  after,
  decide,
  type FactChanges,
  facts,
  node,
  settled,
  vm,
} from '../../../../../test/fixtures/facts.ts'
import type { Decision } from '../decision.ts'
import type { NodeFacts } from '../node-facts.ts'

const ZONE = 'topology.kubernetes.io/zone'
const BETA = 'failure-domain.beta.kubernetes.io/zone'
const REGION = 'topology.kubernetes.io/region'
const TYPE = 'node.kubernetes.io/instance-type'

const topology = (decision: Decision) =>
  decision.status?.conditions?.find(({ type }) => type === 'TopologyResolved')

/** A new Node on which a CSI driver has said a zone already, where vCenter says zone-a. */
function registered(labels: Readonly<Record<string, string>>, changes: FactChanges = {}): NodeFacts {
  return facts({
    node: node({ labels, hasCSIDriver: true }),
    csiTopologyKeys: Object.keys(labels),
    ...changes,
  })
}

/** A running Node whose labels say zone-a, the CSI driver's keys, and whose VM went to zone-b. */
function moved(onChange: NodeFacts['settings']['topology']['onChange']): NodeFacts {
  const { ancestry, ...rest } = vm()
  if (ancestry === undefined) throw new Error('the VM of the fixtures has ancestors')
  const compute = ancestry.compute.map((each) =>
    each.type === 'ClusterComputeResource'
      ? { ...each, tags: [{ category: 'k8s-zone', name: 'zone-b' }] }
      : each,
  )
  const before = settled({ vms: [{ ...rest, memoryMB: 32_768, ancestry: { ...ancestry, compute } }] })
  const { settings } = before
  return {
    ...before,
    node: { ...before.node, hasCSIDriver: true },
    csiTopologyKeys: [BETA],
    settings: { ...settings, topology: { required: false, onChange } },
  }
}

const KEYS: readonly (readonly [what: string, labels: Readonly<Record<string, string>>])[] = [
  ['the beta label', { [BETA]: 'zone-x' }],
  ['the label', { [ZONE]: 'zone-x' }],
  ['both', { [ZONE]: 'zone-x', [BETA]: 'zone-x' }],
]

for (const [what, labels] of KEYS)
  t.test(`a new Node keeps the zone that the CSI driver registered with: ${what}`, async (t) => {
    const first = registered(labels)
    const decision = decide(first)
    t.equal(decision.state, 'initializing')
    t.match(decision.patch?.labels, {
      [ZONE]: undefined,
      [BETA]: undefined,
      [REGION]: 'region-1',
      [TYPE]: /mem/,
    })
    const [key = ''] = Object.keys(labels)
    t.match(topology(decision), { status: 'False', reason: 'LabelsKeptForCSI' })
    t.match(topology(decision)?.message, `label ${key} remains zone-x`)
    t.match(
      topology(decision)?.message,
      'vCenter reports zone-a, because the vSphere CSI driver registered with',
    )
    t.match(topology(decision)?.message, /delete its CSINodeTopology and those labels/)
    t.match(decision.events[0], { type: 'Warning', reason: 'LabelsKeptForCSI' })
    for (const onChange of ['report', 'relabel', 'ignore'] as const) {
      const running = after(first, decision)
      const settings = { ...running.settings, topology: { required: false, onChange } }
      const later = { ...running, settings }
      t.match(decide(later), { patch: undefined, events: [] }, `so it stays: ${onChange}`)
      t.equal(topology(decide(later))?.reason, 'LabelsKeptForCSI')
    }
  })

t.test('what is no key of the driver, or stands as vCenter has it, is written', async (t) => {
  const others = decide(registered({ [ZONE]: 'zone-x' }, { csiTopologyKeys: [] }))
  t.match(others.patch?.labels, { [ZONE]: 'zone-a', [BETA]: 'zone-a' })
  t.equal(topology(others)?.reason, 'Resolved')
  const same = decide(registered({ [BETA]: 'zone-a' }))
  t.match(same.patch?.labels, { [ZONE]: 'zone-a', [BETA]: undefined })
  t.equal(topology(same)?.reason, 'Resolved')
  const fresh = decide(facts({ node: node({ labels: { [ZONE]: 'zone-of-kubelet' } }) }))
  t.match(fresh.patch?.labels, { [ZONE]: 'zone-a', [BETA]: 'zone-a' }, 'no driver is registered yet')
})

t.test('relabel: the labels do not follow, but for those that are not the driver’s', async (t) => {
  const decision = decide(moved('relabel'))
  t.match(decision.patch?.labels, { [ZONE]: undefined, [BETA]: undefined, [TYPE]: /mem-32gb/ })
  t.match(topology(decision), { status: 'False', reason: 'LabelsKeptForCSI' })
  t.match(
    topology(decision)?.message,
    `label ${ZONE} remains zone-a, label ${BETA} remains zone-a although vCenter reports zone-b`,
  )
  const [warned, relabeled] = decision.events
  t.match(warned, { type: 'Warning', reason: 'LabelsKeptForCSI' })
  t.match(relabeled, { reason: 'Relabeled' })
  t.notMatch(relabeled?.message, /zone-b/)
})

t.test('report: what ends it is told for the driver as well; ignore: nothing is told', async (t) => {
  const reported = decide(moved('report'))
  t.equal(reported.patch, undefined)
  t.match(topology(reported), {
    reason: 'LabelsKeptForCSI',
    message: /; label node.kubernetes.io\/instance-type is /,
  })
  t.match(topology(decide(moved('ignore'))), { status: 'True' })
  t.equal(topology(decide({ ...moved('report'), csiTopologyKeys: [] }))?.reason, 'TopologyChanged')
})

t.test('while the driver is away, or no CSINode can be read', async (t) => {
  const unread = { ...moved('relabel'), csiTopologyKeys: undefined }
  const first = decide(unread)
  t.equal(first.patch?.labels?.[ZONE], undefined, 'a driver is registered, nobody knows with what')
  t.match(topology(first), {
    reason: 'LabelsKeptForCSI',
    message: /may have registered with .* \(no CSINode currently says so\)/,
  })

  const kept = after(moved('relabel'), decide(moved('relabel')))
  const away = { ...kept, node: { ...kept.node, hasCSIDriver: false }, csiTopologyKeys: undefined }
  t.match(decide(away), { patch: undefined }, 'what was kept is kept while its pod is restarted')
  const back = decide({ ...kept, csiTopologyKeys: [] })
  t.match(back.patch?.labels, { [ZONE]: 'zone-b', [BETA]: 'zone-b' }, 'until it comes with other keys')
  t.equal(topology(back)?.reason, 'Resolved')

  const none = decide({ ...unread, node: { ...unread.node, hasCSIDriver: false } })
  t.match(none.patch?.labels, { [ZONE]: 'zone-b' }, 'where no driver ever was, the labels follow')
  t.equal(topology(decide({ ...moved('report'), csiTopologyKeys: undefined }))?.reason, 'TopologyChanged')
})

t.test('another zone in labels of the driver’s own keeps nothing, whoever is away', async (t) => {
  const own = moved('relabel')
  const labels = { ...own.node.labels, 'topology.csi.vmware.com/k8s-zone': 'zone-a' }
  const first = { ...own, node: { ...own.node, labels }, csiTopologyKeys: [] }
  const decision = decide(first)
  t.match(decision.patch?.labels, { [ZONE]: 'zone-b' })
  t.equal(topology(decision)?.reason, 'CSITopologyDiffers')
  const later = after(first, decision)
  const away = { ...later.node, hasCSIDriver: false, labels: { ...later.node.labels, [ZONE]: 'zone-c' } }
  t.match(decide({ ...later, node: away, csiTopologyKeys: undefined }).patch?.labels, { [ZONE]: 'zone-b' })
})

t.test('what was kept is not forgotten while tags cannot be read', async (t) => {
  const { ancestry, ...rest } = vm()
  if (ancestry === undefined) throw new Error('the VM of the fixtures has ancestors')
  const untagged = ancestry.compute.map((each) => ({ ...each, tags: [] }))
  const unreadAbove = { folder: [{ why: 'the tag service' }] }
  const outage = { ...rest, ancestry: { ...ancestry, compute: untagged, unreadAbove } }
  const { lookups } = facts({ vms: [outage] })
  for (const csiTopologyKeys of [undefined, [ZONE]]) {
    const kept = after(moved('relabel'), decide(moved('relabel')))
    const away = { ...kept, node: { ...kept.node, hasCSIDriver: false }, csiTopologyKeys }
    const during = { ...away, lookups }
    const decision = decide(during)
    t.match(topology(decision), {
      reason: 'LabelsKeptForCSI',
      message:
        /label .*zone remains zone-a .*vCenter currently reports no value.*not readable: the tag service/,
    })
    const back = { ...after(during, decision), csiTopologyKeys: undefined, lookups: away.lookups }
    t.equal(decide(back).patch?.labels?.[ZONE], undefined)
  }
  const unconfigured = after(moved('relabel'), decide(moved('relabel')))
  const settings = { ...unconfigured.settings, labels: { zone: undefined, region: undefined } }
  t.equal(topology(decide({ ...unconfigured, settings }))?.reason, 'NotConfigured', 'nor kept forever')
})

t.test('without its labels it is over', async (t) => {
  const kept = after(moved('relabel'), decide(moved('relabel')))
  const { [ZONE]: _, [BETA]: __, ...labels } = kept.node.labels
  const decision = decide({ ...kept, node: { ...kept.node, labels } })
  t.match(decision.patch?.labels, { [ZONE]: 'zone-b', [BETA]: 'zone-b' })
  t.equal(topology(decision)?.reason, 'Resolved')
})

t.test('a Node that waits for tags, or is left to a CPI, is told that instead', async (t) => {
  const { settings } = facts()
  const untagged = vm({ ancestry: { compute: [], resourcePool: [], folder: [], unreadable: [] } })
  const required = { ...settings, topology: { required: true, onChange: 'report' } } as const
  const waiting = decide(registered({ [ZONE]: 'zone-x' }, { vms: [untagged], settings: required }))
  t.match(waiting.refusal, { condition: 'TopologyResolved', reason: 'TagMissing' })
  const labels = { ...settings.labels, region: 'no-such-category' }
  const half = decide(registered({ [ZONE]: 'zone-x' }, { settings: { ...required, labels } }))
  t.match(half.refusal, { condition: 'TopologyResolved', reason: 'TagMissing' }, 'of one of the two')
  const interlock = { state: 'held', message: 'stop the CPI' } as const
  t.equal(topology(decide(registered({ [ZONE]: 'zone-x' }, { interlock })))?.reason, 'Resolved')
})
