import t from 'tap'
import { ancestor } from '../../../../../test/fixtures/facts.ts'
import type { Ancestry } from '../../../../types/virtual-machine.ts'
import { resolveTopology } from './zone-from-tags.ts'

const CATEGORIES = { zone: 'k8s-zone', region: 'k8s-region' }
const zone = (name: string) => [{ category: 'k8s-zone', name }]
const region = (name: string) => [{ category: 'k8s-region', name }]

function ancestry(changes: Partial<Ancestry>): Ancestry {
  return { compute: [], resourcePool: [], folder: [], unreadable: [], ...changes }
}

const ROWS: { name: string; ancestry: Ancestry; zone?: string; region?: string; reason: string }[] = [
  {
    name: 'the nearest tag wins',
    ancestry: ancestry({
      compute: [
        ancestor('HostSystem', 'h', zone('near')),
        ancestor('ClusterComputeResource', 'c', [...zone('far'), ...region('r')]),
      ],
    }),
    zone: 'near',
    region: 'r',
    reason: 'Resolved',
  },
  {
    name: 'the host’s side comes before the resource pool, that before the folders',
    ancestry: ancestry({
      compute: [ancestor('HostSystem', 'h', region('compute'))],
      resourcePool: [ancestor('ResourcePool', 'p', [...zone('pool'), ...region('pool')])],
      folder: [ancestor('VirtualMachine', 'vm', [...zone('folder'), ...region('folder')])],
    }),
    zone: 'pool',
    region: 'compute',
    reason: 'Resolved',
  },
  {
    name: 'one tag is missing: the other counts',
    ancestry: ancestry({ compute: [ancestor('Datacenter', 'd', region('r'))] }),
    region: 'r',
    reason: 'TagMissing',
  },
  {
    name: 'some tags are not readable',
    ancestry: ancestry({ compute: [ancestor('Datacenter', 'd', region('r'))], unreadable: ['Folder "x"'] }),
    region: 'r',
    reason: 'TagsUnreadable',
  },
  {
    name: 'a tag that cannot be a label, but nearly',
    ancestry: ancestry({
      compute: [ancestor('Datacenter', 'd', [...zone('zone 1 / left'), ...region('r')])],
    }),
    zone: 'zone-1-left',
    region: 'r',
    reason: 'Resolved',
  },
  {
    name: 'a tag that no label comes near',
    ancestry: ancestry({ compute: [ancestor('Datacenter', 'd', [...zone('东京'), ...region('r')])] }),
    region: 'r',
    reason: 'TagMissing',
  },
]

for (const row of ROWS) {
  t.test(row.name, async (t) => {
    const topology = resolveTopology(row.ancestry, CATEGORIES, false)
    t.equal(topology.zone, row.zone)
    t.equal(topology.region, row.region)
    t.equal(topology.condition.reason, row.reason)
  })
}

t.test('what is missing is named', async (t) => {
  const { message } = resolveTopology(
    ancestry({ compute: [ancestor('HostSystem', 'esx-9')] }),
    CATEGORIES,
    false,
  ).condition
  t.match(message, /k8s-zone.*HostSystem "esx-9"/)
  t.match(message, /k8s-region/)
})

t.test('each category may be left out', async (t) => {
  t.equal(
    resolveTopology(ancestry({}), { zone: undefined, region: undefined }, false).condition.reason,
    'NotConfigured',
  )
  const onlyRegion = resolveTopology(
    ancestry({ compute: [ancestor('Datacenter', 'd', region('r'))] }),
    { zone: undefined, region: 'k8s-region' },
    true,
  )
  t.match(onlyRegion, { zone: undefined, region: 'r', awaitsTags: false, condition: { status: 'True' } })
})
