/** Checks a search that found nothing by searching in the same way for another VM that is known to exist. */
import type { BoundVM } from '../../../agent/shared/node-report.ts'
import type { Proof, VCenterProbe } from '../../types/inventory.ts'
import type { VirtualMachine } from '../../types/virtual-machine.ts'
import type { VMStore } from '../cache/vm-store.ts'
import { objectSpec, propertySpec, readObject, selection, traversal } from '../collect/retrieve-properties.ts'
import { readUUID } from '../properties/property-values.ts'
import { isGone, SoapFault, VCenterError } from '../wire/errors.ts'
import { type ManagedObjectReference, vmReference } from '../wire/managed-object-reference.ts'
import { element, toReference } from '../wire/soap.ts'
import { child, childrenOf, type XMLElement } from '../wire/xml.ts'
import type { ProbeClient } from './probe-client.ts'
import { readVMName, searchVMs } from './read-vm.ts'

/** Most VMs that are tried. */
const TRIES = 3
/** Most VMs that are read where none is followed. */
const SAMPLE = 64

/** A VM that is known to exist. */
export interface Canary {
  readonly moref: string
  readonly biosUUID: string
}

/**
 * Followed and connected VMs other than the missing one and its copies; those in its folder first. `turn` rotates them, so
 * that one VM that cannot be found is not always tried first.
 */
export function knownCanaries(store: VMStore, missing: BoundVM, turn: number): readonly Canary[] {
  const folder = missing.parents?.[0]?.moref
  const beside: Canary[] = []
  const elsewhere: Canary[] = []
  for (const { moref, biosUUID, connectionState } of followedVMs(store)) {
    if (biosUUID === undefined || biosUUID === missing.biosUUID || moref === missing.moref) continue
    if (connectionState !== 'connected') continue
    const near = folder !== undefined && store.machine(moref)?.parent?.value === folder
    const list = near ? beside : elsewhere
    list.push({ moref, biosUUID })
  }
  return [...rotate(beside, turn), ...rotate(elsewhere, turn)]
}

/** All followed VMs that vCenter shows. */
export function followedVMs(store: VMStore): readonly VirtualMachine[] {
  return [...store.followed()].flatMap((uuid) => {
    const answer = store.lookup(uuid)
    return answer.state === 'answered' ? answer.vms : []
  })
}

function rotate(list: readonly Canary[], turn: number): readonly Canary[] {
  const start = turn % Math.max(1, list.length)
  return [...list.slice(start), ...list.slice(0, start)]
}

/**
 * Tries some of the known VMs or, without any, some of all that vCenter shows. If it shows none, and every VM seen before is
 * gone by its moref, there is nothing to try. Throws a VCenterError.
 */
export async function proveCanary(
  client: ProbeClient,
  missing: BoundVM,
  options: {
    readonly vCenter: string
    /** See {@link knownCanaries}. */
    readonly known: readonly Canary[]
    /** VMs that were seen here before, whether or not vCenter shows them now. */
    readonly memory: CanaryMemory
  },
): Promise<VCenterProbe['canary']> {
  const { vCenter, known, memory } = options
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
    const hidden = await firstHidden(client, memory, missing)
    if (hidden === undefined) return { state: 'none' }
    return unproven(
      `vCenter shows no VM at all, though ${hidden}, which it has shown before, is not gone: check the account's role and its propagation`,
    )
  }
  const tried = Math.min(TRIES, canaries.length)
  return unproven(
    tried === 0
      ? 'vCenter shows no connected VM, so its search cannot be tried: bring its hosts and datastores back, or remove the entries of VMs that are lost'
      : `vCenter's search finds none of ${tried} other VM(s) that exist, so not finding one proves nothing` +
          `${refusal === undefined ? '' : ` (${refusal.message})`}: check the account's role and vCenter's services`,
  )
}

const MEMORY = 8

/** Remembers the last few VMs that this process has seen in one vCenter. */
export class CanaryMemory {
  #morefs: readonly string[] = []

  add(moref: string): void {
    this.#morefs = [moref, ...this.#morefs.filter((each) => each !== moref)].slice(0, MEMORY)
  }

  /** Forgets a VM that is gone. */
  forget(moref: string): void {
    this.#morefs = this.#morefs.filter((each) => each !== moref)
  }

  list(): readonly string[] {
    return this.#morefs
  }
}

/** A remembered VM that vCenter does not call gone. Those that are gone are forgotten. */
async function firstHidden(
  client: ProbeClient,
  memory: CanaryMemory,
  missing: BoundVM,
): Promise<string | undefined> {
  for (const moref of memory.list()) {
    if (moref === missing.moref) continue
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
 * The number of VMs on the first page below the root, and the connected ones among them; this may include the missing VM
 * under another moref. Uses a collector of its own, so that destroying it drops the remaining pages.
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
