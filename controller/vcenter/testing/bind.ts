/** VMs of the simulator, bound as reports bind them. */
import type { BoundVM } from '../../../agent/shared/node-report.ts'
import { until } from '../../../test/fixtures/until.ts'
import type { VcsimVM } from '../../../test/servers/control.ts'
import type { VCenterProbe } from '../../types/inventory.ts'
import type { Lab } from './lab.ts'

const { signal } = new AbortController()

/** A VM that is bound to another vCenter and nowhere to be found. */
export const ELSEWHERE: BoundVM = {
  vCenter: 'elsewhere',
  vCenterInstanceUUID: '5c9a0000-0000-4000-8000-00000000000e',
  moref: 'vm-0',
  name: 'nobody',
  instanceUUID: '5c9a0000-0000-4000-8000-000000000000',
  biosUUID: '5c9a0000-0000-4000-8000-000000000001',
}

/** The VM as a report binds it, in the folder that the inventory path names. Waits until the inventory is connected. */
export async function bind(
  { vCenter, inventory }: Lab,
  vm: VcsimVM,
  folder = `/${vm.datacenter}/vm`,
): Promise<BoundVM> {
  await until('a session', () => inventory.connected())
  const { vCenterInstanceUUID = '' } = await inventory.probe(ELSEWHERE, signal)
  const [, moref = ''] =
    /^Folder:(\S+)/m.exec(await vCenter.govc('find', '-i', folder, '-maxdepth', '0')) ?? []
  const name = folder.split('/').at(-1) ?? ''
  return {
    vCenter: 'lab',
    vCenterInstanceUUID,
    moref: vm.ref,
    name: vm.name,
    instanceUUID: vm.instanceUuid,
    biosUUID: vm.uuid,
    parents: [{ type: 'Folder', moref, name }],
  }
}

/** The state of each answer, and the reason where there is one. */
export function summary(probe: VCenterProbe): Record<string, string | undefined> {
  const { moref, instanceUUID, biosUUID, privileges, canary } = probe
  const all = { moref, instanceUUID, biosUUID, privileges, canary }
  return Object.fromEntries(
    Object.entries(all).map(([question, answer]) => {
      if (answer === undefined) return [question, undefined]
      if ('failure' in answer) return [question, answer.failure.reason]
      return [question, answer.state === 'found' ? answer.vm.moref : answer.state]
    }),
  )
}
