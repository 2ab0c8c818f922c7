import t from 'tap'
import { ancestor, vm } from '../../../../../test/fixtures/facts.ts'
import type { Ancestry } from '../../../../types/virtual-machine.ts'
import { outOfScope } from './scope.ts'

const root = ancestor('Folder', 'Datacenters')
const dc = ancestor('Datacenter', 'dc-2')

function under(...folders: string[]): Ancestry {
  const way = [ancestor('Folder', 'vm'), dc, ...folders.map((name) => ancestor('Folder', name)), root]
  return { compute: [], resourcePool: [], folder: way, unreadable: [] }
}

/** The same for an account that may not read what is above these folders. */
function blind(...folders: string[]): Ancestry {
  const { folder } = under(...folders)
  return { ...under(), folder: folder.slice(0, -1), unreadableAbove: { type: 'Folder', moref: 'group-d1' } }
}

const ROWS: { datacenters: string[]; ancestry: Ancestry; reason?: string }[] = [
  { datacenters: [], ancestry: under() },
  { datacenters: ['dc-1', 'dc-2'], ancestry: under() },
  { datacenters: ['dc-2'], ancestry: under('a') },
  { datacenters: ['/dc-2'], ancestry: under() },
  { datacenters: ['/a/dc-2'], ancestry: under('a') },
  { datacenters: ['a/dc-2'], ancestry: under('a') },
  { datacenters: ['/b/dc-2'], ancestry: under('a'), reason: 'DatacenterOutOfScope' },
  { datacenters: ['/dc-2'], ancestry: under('a'), reason: 'DatacenterOutOfScope' },
  { datacenters: ['dc-1'], ancestry: under(), reason: 'DatacenterOutOfScope' },
  { datacenters: ['dc-2'], ancestry: { ...under(), folder: [] }, reason: 'DatacenterUnreadable' },
  { datacenters: [], ancestry: { ...under(), folder: [] } },
  { datacenters: ['dc-2'], ancestry: blind('a') },
  { datacenters: ['/a/dc-2'], ancestry: blind('a') },
  { datacenters: ['/dc-2'], ancestry: blind('a'), reason: 'DatacenterUnreadable' },
  { datacenters: ['dc-1'], ancestry: blind('a'), reason: 'DatacenterOutOfScope' },
]

for (const { datacenters, ancestry, reason } of ROWS) {
  const where = ancestry.folder.map(({ name }) => name).join(' < ')
  t.test(`[${datacenters}] and ${where || 'nothing readable'}: ${reason ?? 'in scope'}`, async (t) => {
    t.equal(outOfScope(vm(), ancestry, datacenters)?.reason, reason)
  })
}

t.test('the host’s side tells the datacenter of a VM without readable folders', async (t) => {
  const compute = [ancestor('HostSystem', 'h'), ancestor('Folder', 'host'), dc, root]
  t.equal(outOfScope(vm(), { ...under(), folder: [], compute }, ['/dc-2']), undefined)
})
