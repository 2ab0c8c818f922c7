import t from 'tap'
import {
  BIOS_UUID,
  boundVM,
  NODE_UID,
  node,
  report,
  SWAPPED_UUID,
  spec,
} from '../../../../test/fixtures/facts.ts'
import type { NodeReport } from '../../../types/node.ts'
import { brakeGroup, isUnseen, machinesOf } from './machines.ts'

const OTHER = '42000000-0000-4000-8000-0000000000aa'
const OTHER_SWAPPED = '00000042-0000-0040-8000-0000000000aa'
const named = boundVM({ moref: 'vm-7', biosUUID: OTHER })
const bare = (changes: Partial<NodeReport['status']>, serialUUID?: string): NodeReport =>
  report({
    spec: { ok: true, value: spec({ machine: serialUUID === undefined ? {} : { serialUUID } }) },
    status: { nodeUID: NODE_UID, ...changes },
  })
const uuids = (...given: Parameters<typeof machinesOf>) =>
  machinesOf(...given)?.machines.map((each) => (isUnseen(each) ? each.biosUUID : each.moref))

t.test('of a Node that is verified, its VM alone: all other witnesses name it too', async (t) => {
  const providerID = `vsphere://${BIOS_UUID}`
  t.same(uuids(node({ providerID }), bare({ vm: boundVM(), identityLevel: 'proven' }, BIOS_UUID)), ['vm-42'])
  t.same(
    uuids(node({ providerID: `vsphere://${SWAPPED_UUID}` }), bare({ vm: boundVM() })),
    ['vm-42'],
    'in either byte order, and after its level has ended',
  )
})

t.test('of one that was rebuilt under its name, both machines', async (t) => {
  const taken = node({ providerID: `vsphere://${BIOS_UUID}`, systemUUID: OTHER_SWAPPED })
  t.same(uuids(taken, bare({ vm: boundVM() })), ['vm-42', OTHER_SWAPPED, OTHER], 'one that was never seen')
  t.same(uuids(taken, bare({ vm: boundVM() }, OTHER)), ['vm-42', OTHER], 'by its report in one order')
  t.same(uuids(taken, bare({ vm: boundVM(), namedVM: named })), ['vm-42', 'vm-7'], 'one that was seen')
  t.equal(machinesOf(taken, bare({ vm: boundVM() }))?.bound, true)
})

t.test('of one that was never verified, by its provider ID in both byte orders', async (t) => {
  const migrated = node({ providerID: `vsphere://${BIOS_UUID.toUpperCase()}`, systemUUID: '' })
  t.same(uuids(migrated, undefined), [BIOS_UUID, SWAPPED_UUID])
  t.equal(machinesOf(migrated, undefined)?.bound, false)
  t.same(
    uuids(migrated, bare({}, SWAPPED_UUID)),
    [BIOS_UUID, SWAPPED_UUID],
    'whatever order the report has it in',
  )
  t.same(uuids(migrated, bare({ namedVM: boundVM() })), ['vm-42'], 'once it was seen')
})

t.test('who only names a VM is counted with its like, wherever that was seen', async (t) => {
  const naming = node({ providerID: `vsphere://${BIOS_UUID}` })
  const group = (status: Parameters<typeof bare>[0]) => {
    const nodeMachines = machinesOf(naming, bare(status))
    return nodeMachines && brakeGroup(nodeMachines)
  }
  const vCenter = boundVM().vCenterInstanceUUID
  t.equal(group({ vm: boundVM(), identityLevel: 'proven' }), vCenter)
  t.equal(group({ vm: boundVM() }), vCenter, 'nor is one let out whose level has ended')
  t.equal(group({ namedVM: boundVM() }), '')
  t.equal(group({}), '')
})

t.test('of one that names no machine, none', async (t) => {
  t.equal(machinesOf(node(), undefined), undefined, 'a kubelet may say what it wants')
  t.equal(machinesOf(node({ providerID: 'metal3://x' }), bare({ vm: boundVM() })), undefined)
  t.equal(machinesOf(node({ providerID: 'vsphere://nonsense' }), undefined), undefined)
  t.equal(
    machinesOf(node({ uid: 'new' }), bare({ vm: boundVM() }, BIOS_UUID)),
    undefined,
    'what was said of a former Node says nothing of the next',
  )
  const blank = node({
    providerID: `vsphere://${BIOS_UUID}`,
    systemUUID: '00000000-0000-0000-0000-000000000000',
  })
  t.same(uuids(blank, undefined), [BIOS_UUID, SWAPPED_UUID], 'firmware that was given no UUID names none')
})
