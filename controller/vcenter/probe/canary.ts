/** Whether the search that found nothing would find a VM: one that is known to exist is searched for in the same way. */
import type { BoundVM } from '../../../agent/contract.ts'
import type { Proof } from '../../facts/existence.ts'
import { objectSpec, propertySpec, readObject, selection, traversal } from '../collect/properties.ts'
import { readUUID } from '../facts/properties.ts'
import type { Table } from '../facts/table.ts'
import { element } from '../wire/envelope.ts'
import { type Reference, SoapFault, VCenterError } from '../wire/errors.ts'
import { toReference } from '../wire/soap.ts'
import { child, childrenOf, type XMLElement } from '../wire/xml.ts'
import type { Line } from './line.ts'
import { readVMName } from './read-vm.ts'
import { searchVMs } from './search.ts'

/** So many VMs are tried. */
const TRIES = 3
/** So many are looked at where none is followed. */
const SAMPLE = 64

/** A VM that is said to exist. */
export interface Canary {
  readonly reference: string
  readonly biosUUID: string
}

/**
 * Connected VMs that are followed, other than this one and its copies; those of its own folder first. `turn` decides
 * who begins: one that cannot be found must not stand for all for ever.
 */
export function knownCanaries(table: Table, missed: BoundVM, turn: number): readonly Canary[] {
  const folder = missed.parents?.[0]?.moref
  const beside: Canary[] = []
  const elsewhere: Canary[] = []
  for (const uuid of table.followed()) {
    const answer = table.lookup(uuid)
    if (answer.state !== 'answered' || uuid === missed.biosUUID) continue
    for (const { reference, biosUUID, connectionState } of answer.vms) {
      if (biosUUID !== uuid || connectionState !== 'connected' || reference === missed.moref) continue
      const near = folder !== undefined && table.machine(reference)?.parent?.value === folder
      const list = near ? beside : elsewhere
      list.push({ reference, biosUUID })
    }
  }
  return [...rotate(beside, turn), ...rotate(elsewhere, turn)]
}

function rotate(list: readonly Canary[], turn: number): readonly Canary[] {
  const start = turn % Math.max(1, list.length)
  return [...list.slice(start), ...list.slice(0, start)]
}

/** Tries some of these, or of all that vCenter holds where none is known. Throws a VCenterError. */
export async function proveCanary(
  line: Line,
  vCenter: string,
  missed: BoundVM,
  known: readonly Canary[],
): Promise<Proof> {
  const canaries = known.length > 0 ? known : await sample(line, missed)
  let refusal: VCenterError | undefined
  for (const { reference, biosUUID } of canaries.slice(0, TRIES)) {
    try {
      const found = await searchVMs(line, biosUUID, 'bios')
      if (!found.includes(reference)) continue
      await readVMName(line, reference)
      return { state: 'proven' }
    } catch (error) {
      if (!(error instanceof SoapFault) || error.reason === 'SessionLost') throw error
      refusal = error
    }
  }
  const tried = Math.min(TRIES, canaries.length)
  const what =
    tried === 0
      ? 'vCenter shows no other VM, so that not finding one proves nothing: let the account see at least one more VM'
      : `vCenter's search finds none of ${tried} other VM(s) that exist, so that not finding one proves nothing` +
        `${refusal === undefined ? '' : ` (${refusal.message})`}: check the account's role and vCenter's services`
  return { state: 'unproven', failure: { vCenter, reason: 'CanaryNotFound', message: what } }
}

const FOLDERS = traversal('folders', 'Folder', 'childEntity', selection('folders') + selection('datacenters'))
const DATACENTERS = traversal('datacenters', 'Datacenter', 'vmFolder', selection('folders'))

/** The first connected VMs below the root. By a collector of its own: with it goes what it has not yet told. */
async function sample(line: Line, missed: BoundVM): Promise<readonly Canary[]> {
  const { propertyCollector, rootFolder } = line.content
  const made = await line.call('CreatePropertyCollector', propertyCollector, '')
  const collector = toReference(child(made, 'returnval'))
  if (collector === undefined) {
    throw new VCenterError('MalformedAnswer', 'vCenter does not name the collector that it made')
  }
  const specs =
    propertySpec('VirtualMachine', ['config.uuid', 'runtime.connectionState']) +
    objectSpec(rootFolder, true, FOLDERS + DATACENTERS)
  const parameters = `<specSet>${specs}</specSet><options>${element('maxObjects', SAMPLE)}</options>`
  const response = await readAndDrop(line, collector, parameters)
  return childrenOf(child(response, 'returnval'), 'objects').flatMap((record) => {
    const { reference, properties } = readObject(record)
    const biosUUID = readUUID(properties.get('config.uuid'))
    if (biosUUID === undefined || properties.get('runtime.connectionState')?.text !== 'connected') return []
    const same = reference.value === missed.moref || biosUUID === missed.biosUUID
    return same ? [] : { reference: reference.value, biosUUID }
  })
}

async function readAndDrop(line: Line, collector: Reference, parameters: string): Promise<XMLElement> {
  try {
    return await line.call('RetrievePropertiesEx', collector, parameters)
  } finally {
    await line.call('DestroyPropertyCollector', collector, '')
  }
}
