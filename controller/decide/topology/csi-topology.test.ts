import t from 'tap'
import { yes } from '../condition.ts'
import { compareWithCSI } from './csi-topology.ts'

const CATEGORIES = { zone: 'k8s-zone', region: 'k8s-region' }
const TOPOLOGY = { zone: 'a', region: 'r', condition: yes('Resolved', 'zone a, region r') }

t.test('labels of the CSI driver that say something else are told', async (t) => {
  for (const [labels, expected] of [
    [{}, 'Resolved'],
    [{ 'topology.csi.vmware.com/k8s-zone': 'a', 'topology.csi.vmware.com/k8s-region': 'r' }, 'Resolved'],
    [{ 'topology.csi.vmware.com/other': 'b' }, 'Resolved'],
    [{ 'topology.csi.vmware.com/k8s-zone': 'b' }, 'CSITopologyDiffers'],
    [{ 'topology.csi.vmware.com/k8s-region': 'b' }, 'CSITopologyDiffers'],
  ] as const) {
    t.equal(compareWithCSI({ labels }, TOPOLOGY, CATEGORIES).reason, expected, JSON.stringify(labels))
  }
  const { message } = compareWithCSI(
    { labels: { 'topology.csi.vmware.com/k8s-zone': 'b' } },
    TOPOLOGY,
    CATEGORIES,
  )
  t.match(message, /k8s-zone is b, and the zone by vCenter's tags is a/)
})

t.test('a label that is not wanted cannot differ', async (t) => {
  const labels = { 'topology.csi.vmware.com/k8s-zone': 'b', 'topology.csi.vmware.com/undefined': 'b' }
  const regionOnly = { ...TOPOLOGY, zone: undefined }
  t.equal(compareWithCSI({ labels }, regionOnly, { ...CATEGORIES, zone: undefined }).reason, 'Resolved')
})
