/** Whether the search that found nothing would find a VM: one that is known to exist is searched for in the same way. */
import type { BoundVM } from '../../../agent/contract.ts'
import type { CanaryProof, Proof } from '../../types/vcenter-probe.ts'
import type { VirtualMachine } from '../../types/virtual-machine.ts'
import { readUUID } from '../cache/properties.ts'
import type { Table } from '../cache/table.ts'
import { readObject } from '../collect/object-content.ts'
import { objectSpec, propertySpec, selection, traversal } from '../collect/properties.ts'
import { element } from '../wire/envelope.ts'
import { SoapFault, VCenterError } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'
import { child, childrenOf, type XMLElement } from '../wire/xml.ts'
import type { ProbeClient } from './probe-client.ts'
import { isGone, readVMName, vmReference } from './read-vm.ts'
import { searchVMs } from './search.ts'

/** So many VMs are tried. */
const TRIES = 3
/** So many are looked at where none is followed. */
const SAMPLE = 64

/** A VM that is said to exist. */
export interface Canary {
  readonly moref: string
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
  for (const { moref, biosUUID, connectionState } of followedVMs(table)) {
    if (biosUUID === undefined || biosUUID === missed.biosUUID || moref === missed.moref) continue
    if (connectionState !== 'connected') continue
    const near = folder !== undefined && table.machine(moref)?.parent?.value === folder
    const list = near ? beside : elsewhere
    list.push({ moref, biosUUID })
  }
  return [...rotate(beside, turn), ...rotate(elsewhere, turn)]
}

/** All that are shown of those that are followed. */
export function followedVMs(table: Table): readonly VirtualMachine[] {
  return [...table.followed()].flatMap((uuid) => {
    const answer = table.lookup(uuid)
    return answer.state === 'answered' ? answer.vms : []
  })
}

function rotate(list: readonly Canary[], turn: number): readonly Canary[] {
  const start = turn % Math.max(1, list.length)
  return [...list.slice(start), ...list.slice(0, start)]
}

export interface CanaryOptions {
  readonly vCenter: string
  /** See {@link knownCanaries}. */
  readonly known: readonly Canary[]
  /** VMs other than this one that were seen here before, whatever shows now. */
  readonly memory: CanaryMemory
}

/**
 * Tries some of those that are known, or of all that vCenter shows where none is. Where it shows none, and each that was
 * seen before is gone by its reference, there is nothing to try. Throws a VCenterError.
 */
export async function proveCanary(
  client: ProbeClient,
  missed: BoundVM,
  { vCenter, known, memory }: CanaryOptions,
): Promise<CanaryProof> {
  const unproven = (message: string): Proof => ({
    state: 'unproven',
    failure: { vCenter, reason: 'CanaryNotFound', message },
  })
  const { canaries, shown } =
    known.length > 0 ? { canaries: known, shown: known.length } : await sample(client)
  let refusal: VCenterError | undefined
  for (const { moref, biosUUID } of canaries.slice(0, TRIES)) {
    try {
      const found = await searchVMs(client, biosUUID, 'bios')
      if (!found.includes(moref)) continue
      await readVMName(client, moref)
      memory.add(moref)
      return { state: 'proven' }
    } catch (error) {
      if (!(error instanceof SoapFault) || error.reason === 'SessionLost') throw error
      refusal = error
    }
  }
  if (shown === 0) {
    const hidden = await firstHidden(client, memory, missed)
    if (hidden === undefined) return { state: 'none' }
    return unproven(
      `vCenter shows no VM at all, though ${hidden}, which it has shown before, is not gone: check the account's role and its propagation`,
    )
  }
  const tried = Math.min(TRIES, canaries.length)
  return unproven(
    tried === 0
      ? 'vCenter shows no VM that is connected, so that its search cannot be tried: bring its hosts back'
      : `vCenter's search finds none of ${tried} other VM(s) that exist, so that not finding one proves nothing` +
          `${refusal === undefined ? '' : ` (${refusal.message})`}: check the account's role and vCenter's services`,
  )
}

/** VMs that were seen in one vCenter, by this process. */
export interface CanaryMemory {
  add(moref: string): void
  /** Of one that is gone. */
  forget(moref: string): void
  /** The last few. */
  list(): readonly string[]
}

const MEMORY = 8

export function createCanaryMemory(): CanaryMemory {
  let morefs: readonly string[] = []
  return {
    add(moref) {
      morefs = [moref, ...morefs.filter((each) => each !== moref)].slice(0, MEMORY)
    },
    forget(moref) {
      morefs = morefs.filter((each) => each !== moref)
    },
    list: () => morefs,
  }
}

/** One of those that vCenter does not say to be gone; those that are, are forgotten. */
async function firstHidden(
  client: ProbeClient,
  memory: CanaryMemory,
  missed: BoundVM,
): Promise<string | undefined> {
  for (const moref of memory.list()) {
    if (moref === missed.moref) continue
    try {
      await readVMName(client, moref)
      return moref
    } catch (error) {
      if (!(error instanceof SoapFault) || error.reason === 'SessionLost') throw error
      if (!isGone(error, vmReference(moref))) return moref
      memory.forget(moref)
    }
  }
  return undefined
}

const FOLDERS = traversal('folders', 'Folder', 'childEntity', selection('folders') + selection('datacenters'))
const DATACENTERS = traversal('datacenters', 'Datacenter', 'vmFolder', selection('folders'))

/**
 * The first VMs below the root, and those of them that are connected: the missed one too, if it is there under another
 * reference. By a collector of its own: with it goes what it has not yet told.
 */
export async function sample(
  client: ProbeClient,
): Promise<{ readonly canaries: readonly Canary[]; readonly shown: number }> {
  const { propertyCollector, rootFolder } = client.content
  const made = await client.call('CreatePropertyCollector', propertyCollector, '')
  const collector = toReference(child(made, 'returnval'))
  if (collector === undefined) {
    throw new VCenterError('MalformedAnswer', 'vCenter does not name the collector that it made')
  }
  const specs =
    propertySpec('VirtualMachine', ['config.uuid', 'runtime.connectionState']) +
    objectSpec(rootFolder, true, FOLDERS + DATACENTERS)
  const parameters = `<specSet>${specs}</specSet><options>${element('maxObjects', SAMPLE)}</options>`
  const response = await readAndDrop(client, collector, parameters)
  const records = childrenOf(child(response, 'returnval'), 'objects')
  const canaries = records.flatMap((record) => {
    const { reference, properties } = readObject(record)
    const biosUUID = readUUID(properties.get('config.uuid'))
    if (biosUUID === undefined || properties.get('runtime.connectionState')?.text !== 'connected') return []
    return { moref: reference.value, biosUUID }
  })
  return { canaries, shown: records.length }
}

async function readAndDrop(
  client: ProbeClient,
  collector: ManagedObjectReference,
  parameters: string,
): Promise<XMLElement> {
  try {
    return await client.call('RetrievePropertiesEx', collector, parameters)
  } finally {
    await client.call('DestroyPropertyCollector', collector, '')
  }
}
