/** Searches the whole of a vCenter for VMs by UUID. */

import { VCenterError } from '../wire/errors.ts'
import { element, toReference } from '../wire/soap.ts'
import { childrenOf } from '../wire/xml.ts'
import type { ProbeClient } from './probe-client.ts'

export type UUIDKind = 'instance' | 'bios'

/**
 * Morefs of all VMs with this UUID in every datacenter, including templates. vCenter answers with none both where there is
 * none and where the account may not see any. Throws a VCenterError.
 */
export async function searchVMs(
  client: ProbeClient,
  uuid: string,
  kind: UUIDKind,
): Promise<readonly string[]> {
  const parameters =
    element('uuid', uuid.toLowerCase()) +
    element('vmSearch', true) +
    element('instanceUuid', kind === 'instance')
  const response = await client.call('FindAllByUuid', client.content.searchIndex, parameters)
  return childrenOf(response, 'returnval').map((each) => {
    const found = toReference(each)
    if (found?.type === 'VirtualMachine') return found.value
    throw new VCenterError(
      'MalformedAnswer',
      'vCenter answers to FindAllByUuid with something that is not a VM; check for a proxy in between',
    )
  })
}
