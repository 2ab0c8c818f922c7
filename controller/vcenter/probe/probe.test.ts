import t from 'tap'
import type { BoundVM } from '../../../agent/contract.ts'
import type { VcsimVM } from '../../../test/servers/control.ts'
import { type Lab, openLab, until, vmAt } from '../testing/lab.ts'

const { signal } = new AbortController()

/** The VM as a report binds it, below the folder `vm` of its datacenter. */
async function bind({ vCenter, inventory }: Lab, vm: VcsimVM): Promise<BoundVM> {
  await until('a session', () => inventory.connected())
  const { vCenterInstanceUUID = '' } = await inventory.probe(
    { ...NOBODY, biosUUID: vm.uuid, vCenterInstanceUUID: '' },
    signal,
  )
  const folder = (await vCenter.govc('find', '-i', '/', '-type', 'f', '-name', 'vm')).trim()
  return {
    vCenter: 'lab',
    vCenterInstanceUUID,
    moref: vm.ref,
    name: vm.name,
    instanceUUID: vm.instanceUuid,
    biosUUID: vm.uuid,
    parents: [{ type: 'Folder', moref: folder.replace(/^Folder:/, ''), name: 'vm' }],
  }
}

const NOBODY: BoundVM = {
  vCenter: 'elsewhere',
  vCenterInstanceUUID: 'another',
  moref: 'vm-0',
  name: 'nobody',
  instanceUUID: '5c9a0000-0000-4000-8000-000000000000',
  biosUUID: '5c9a0000-0000-4000-8000-000000000001',
}

t.test('a VM that exists is found by each question', async (t) => {
  const lab = await openLab(t)
  const vm = await vmAt(lab, 0)
  const probe = await lab.inventory.probe(await bind(lab, vm), signal)
  const seen = {
    reference: vm.ref,
    name: vm.name,
    biosUUID: vm.uuid,
    connectionState: 'connected',
    powerState: 'poweredOn',
    mayRestart: [],
  }
  t.same(probe, {
    vCenter: 'lab',
    vCenterInstanceUUID: probe.vCenterInstanceUUID,
    session: 1,
    reference: { state: 'found', vm: seen },
    instanceUUID: { state: 'found', vm: seen },
    biosUUID: { state: 'found', vm: seen },
    privileges: { state: 'proven' },
    canary: { state: 'proven' },
  })
})

t.test('a VM that was destroyed is found by none, with all that makes this mean something', async (t) => {
  const lab = await openLab(t)
  const vm = await vmAt(lab, 0)
  const bound = await bind(lab, vm)
  await lab.vCenter.govc('vm.destroy', vm.name)
  t.match(await lab.inventory.probe(bound, signal), {
    reference: { state: 'not-found' },
    instanceUUID: { state: 'not-found' },
    biosUUID: { state: 'not-found' },
    privileges: { state: 'proven' },
    canary: { state: 'proven' },
  })
})
