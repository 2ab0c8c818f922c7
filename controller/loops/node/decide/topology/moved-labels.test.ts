import t from 'tap'
import { yes } from '../../../../types/condition-value.ts'
import { compareWithCSI } from './moved-labels.ts'

const CATEGORIES = { zone: 'k8s-zone', region: 'k8s-region' }
const RESOLVED = yes('Resolved', 'zone a, region r')
const WANTED = { 'topology.kubernetes.io/zone': 'a', 'topology.kubernetes.io/region': 'r' }

t.test('labels of the CSI driver that differ from those that the Node has or gets are told', async (t) => {
  for (const [labels, wanted, expected] of [
    [{}, WANTED, 'Resolved'],
    [
      { 'topology.csi.vmware.com/k8s-zone': 'a', 'topology.csi.vmware.com/k8s-region': 'r' },
      WANTED,
      'Resolved',
    ],
    [{ 'topology.csi.vmware.com/other': 'b' }, WANTED, 'Resolved'],
    [{ 'topology.csi.vmware.com/k8s-zone': 'b' }, WANTED, 'CSITopologyDiffers'],
    [{ 'topology.csi.vmware.com/k8s-region': 'b' }, WANTED, 'CSITopologyDiffers'],
    [{ 'topology.csi.vmware.com/k8s-zone': 'b', 'topology.kubernetes.io/zone': 'b' }, {}, 'Resolved'],
    [
      { 'topology.csi.vmware.com/k8s-zone': 'a', 'topology.kubernetes.io/zone': 'b' },
      {},
      'CSITopologyDiffers',
    ],
    [{ 'topology.csi.vmware.com/k8s-zone': 'a' }, {}, 'Resolved'],
  ] as const) {
    const { reason } = compareWithCSI({ labels }, wanted, CATEGORIES, RESOLVED)
    t.equal(reason, expected, JSON.stringify([labels, wanted]))
  }
  const { message } = compareWithCSI(
    { labels: { 'topology.csi.vmware.com/k8s-zone': 'b' } },
    WANTED,
    CATEGORIES,
    RESOLVED,
  )
  t.match(message, 'topology.csi.vmware.com/k8s-zone is b, and topology.kubernetes.io/zone is a')
})

t.test('a category that is not configured has no label', async (t) => {
  const labels = { 'topology.csi.vmware.com/k8s-zone': 'b', 'topology.kubernetes.io/zone': 'a' }
  const { reason } = compareWithCSI({ labels }, {}, { ...CATEGORIES, zone: undefined }, RESOLVED)
  t.equal(reason, 'Resolved')
})
